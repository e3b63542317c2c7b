package main

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// A sandbox is the entry of a pod.
type sandbox struct {
	id      string
	number  int
	config  *cri.PodSandboxConfig
	state   cri.PodSandboxState
	created int64
}

func (s *sandbox) address() *cri.PodSandboxNetworkStatus {
	return &cri.PodSandboxNetworkStatus{
		Ip: fmt.Sprintf("10.%d.%d.%d", 64+s.number>>16, s.number>>8&0xff, s.number&0xff)}
}

func (t *runtimeTable) RunPodSandbox(_ context.Context, asked *cri.RunPodSandboxRequest) (
	*cri.RunPodSandboxResponse, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.last++
	made := &sandbox{id: fmt.Sprintf("%064x", t.last), number: t.last, config: asked.GetConfig(),
		state: cri.PodSandboxState_SANDBOX_READY, created: time.Now().UnixNano()}
	t.sandboxes[made.id] = made
	return &cri.RunPodSandboxResponse{PodSandboxId: made.id}, nil
}

func (t *runtimeTable) StopPodSandbox(_ context.Context, asked *cri.StopPodSandboxRequest) (
	*cri.StopPodSandboxResponse, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if found := t.sandboxes[asked.GetPodSandboxId()]; found != nil {
		found.state = cri.PodSandboxState_SANDBOX_NOTREADY
		for _, one := range t.containers {
			if one.sandbox == found {
				t.finish(one, 137)
			}
		}
	}
	return &cri.StopPodSandboxResponse{}, nil
}

func (t *runtimeTable) RemovePodSandbox(_ context.Context, asked *cri.RemovePodSandboxRequest) (
	*cri.RemovePodSandboxResponse, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for id, one := range t.containers {
		if one.sandbox.id == asked.GetPodSandboxId() {
			t.finish(one, 137)
			delete(t.containers, id)
		}
	}
	delete(t.sandboxes, asked.GetPodSandboxId())
	return &cri.RemovePodSandboxResponse{}, nil
}

func (t *runtimeTable) PodSandboxStatus(_ context.Context, asked *cri.PodSandboxStatusRequest) (
	*cri.PodSandboxStatusResponse, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	found := t.sandboxes[asked.GetPodSandboxId()]
	if found == nil {
		return nil, status.Errorf(codes.NotFound, "no sandbox %s", asked.GetPodSandboxId())
	}
	return &cri.PodSandboxStatusResponse{Status: &cri.PodSandboxStatus{
		Id: found.id, Metadata: found.config.GetMetadata(), State: found.state,
		CreatedAt: found.created, Network: found.address(),
		Labels: found.config.GetLabels(), Annotations: found.config.GetAnnotations(),
		Linux: &cri.LinuxPodSandboxStatus{Namespaces: &cri.Namespace{
			Options: found.config.GetLinux().GetSecurityContext().GetNamespaceOptions()}},
	}}, nil
}

func (t *runtimeTable) ListPodSandbox(_ context.Context, asked *cri.ListPodSandboxRequest) (
	*cri.ListPodSandboxResponse, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	filter := asked.GetFilter()
	answer := &cri.ListPodSandboxResponse{}
	for _, one := range t.sandboxes {
		if (filter.GetId() != "" && filter.GetId() != one.id) ||
			(filter.GetState() != nil && filter.GetState().GetState() != one.state) ||
			!contains(one.config.GetLabels(), filter.GetLabelSelector()) {
			continue
		}
		answer.Items = append(answer.Items, &cri.PodSandbox{
			Id: one.id, Metadata: one.config.GetMetadata(), State: one.state, CreatedAt: one.created,
			Labels: one.config.GetLabels(), Annotations: one.config.GetAnnotations()})
	}
	return answer, nil
}

// contains says whether the labels have all that a selector names.
func contains(labels, selector map[string]string) bool {
	for key, value := range selector {
		if labels[key] != value {
			return false
		}
	}
	return true
}
