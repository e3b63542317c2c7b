package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"path"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// A container is an entry too: it "runs" from its start until something ends it.
type container struct {
	id      string
	sandbox *sandbox
	config  *cri.ContainerConfig
	state   cri.ContainerState
	created int64
	started int64
	ended   int64
	code    int32
	about   event // whose it is; without the request
	timer   *time.Timer
}

// runtimeTable is the runtime whose containers exist only here.
type runtimeTable struct {
	cri.UnimplementedRuntimeServiceServer
	journal    *journal
	mutex      sync.Mutex
	last       int
	sandboxes  map[string]*sandbox
	containers map[string]*container
	failures   *failures
}

func newRuntimeTable(journal *journal, failures *failures) *runtimeTable {
	return &runtimeTable{journal: journal, sandboxes: map[string]*sandbox{},
		containers: map[string]*container{}, failures: failures}
}

func (t *runtimeTable) CreateContainer(_ context.Context, asked *cri.CreateContainerRequest) (
	*cri.CreateContainerResponse, error) {
	entry := describe(asked)
	made, err := containerSpec(asked.GetConfig())
	entry.Spec = made
	t.mutex.Lock()
	defer t.mutex.Unlock()
	pod := t.sandboxes[asked.GetPodSandboxId()]
	if err == nil && pod == nil {
		err = status.Errorf(codes.NotFound, "no sandbox %s", asked.GetPodSandboxId())
	}
	if err == nil {
		err = t.failures.of("create", entry.Container)
	}
	if err != nil {
		entry.Error = err.Error()
		t.journal.add(entry)
		return nil, err
	}
	t.last++
	entry.ID = fmt.Sprintf("%064x", t.last)
	about := entry
	about.Request, about.Spec, about.PodAnnotations = nil, nil, nil
	t.containers[entry.ID] = &container{id: entry.ID, sandbox: pod, config: asked.GetConfig(),
		state: cri.ContainerState_CONTAINER_CREATED, created: time.Now().UnixNano(), about: about}
	t.journal.add(entry)
	return &cri.CreateContainerResponse{ContainerId: entry.ID}, nil
}

func (t *runtimeTable) StartContainer(_ context.Context, asked *cri.StartContainerRequest) (
	*cri.StartContainerResponse, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	found := t.containers[asked.GetContainerId()]
	if found == nil {
		return nil, status.Errorf(codes.NotFound, "no container %s", asked.GetContainerId())
	}
	if err := t.failures.of("start", found.about.Container); err != nil {
		t.finish(found, 128)
		return nil, err
	}
	found.state, found.started = cri.ContainerState_CONTAINER_RUNNING, time.Now().UnixNano()
	t.note(found, "start")
	if life, code := commanded(found.config); life > 0 {
		found.timer = time.AfterFunc(life, func() { t.end(found.id, code) })
	}
	return &cri.StartContainerResponse{}, nil
}

// commanded reads from the command how long a container runs (0: until it is stopped) and its exit
// code then: work show --for=1s --exit=3.
func commanded(config *cri.ContainerConfig) (time.Duration, int32) {
	words := append(append([]string{}, config.GetCommand()...), config.GetArgs()...)
	if len(words) < 2 || path.Base(words[0]) != "work" || words[1] != "show" {
		return 0, 0
	}
	flags := flag.NewFlagSet("show", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	life := flags.Duration("for", 0, "")
	code := flags.Int("exit", 0, "")
	if flags.Parse(words[2:]) != nil {
		return time.Nanosecond, 2
	}
	return *life, int32(*code)
}

func (t *runtimeTable) note(one *container, kind string) {
	entry := one.about
	entry.Kind, entry.ExitCode = kind, one.code
	t.journal.add(entry)
}

// finish ends a container that has not ended yet.
func (t *runtimeTable) finish(one *container, code int32) {
	if one.state == cri.ContainerState_CONTAINER_EXITED {
		return
	}
	if one.timer != nil {
		one.timer.Stop()
	}
	one.state, one.code = cri.ContainerState_CONTAINER_EXITED, code
	one.ended = time.Now().UnixNano()
	t.note(one, "end")
}

// end ends a running container. False if there is none of that id.
func (t *runtimeTable) end(id string, code int32) bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	found := t.containers[id]
	if found == nil || found.state != cri.ContainerState_CONTAINER_RUNNING {
		return false
	}
	t.finish(found, code)
	return true
}

func (t *runtimeTable) StopContainer(_ context.Context, asked *cri.StopContainerRequest) (
	*cri.StopContainerResponse, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if found := t.containers[asked.GetContainerId()]; found != nil {
		t.finish(found, 0)
	}
	return &cri.StopContainerResponse{}, nil
}

func (t *runtimeTable) RemoveContainer(_ context.Context, asked *cri.RemoveContainerRequest) (
	*cri.RemoveContainerResponse, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if found := t.containers[asked.GetContainerId()]; found != nil {
		t.finish(found, 137)
		t.note(found, "remove")
		delete(t.containers, found.id)
	}
	return &cri.RemoveContainerResponse{}, nil
}

func (t *runtimeTable) ListContainers(_ context.Context, asked *cri.ListContainersRequest) (
	*cri.ListContainersResponse, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	filter := asked.GetFilter()
	answer := &cri.ListContainersResponse{}
	for _, one := range t.containers {
		if (filter.GetId() != "" && filter.GetId() != one.id) ||
			(filter.GetPodSandboxId() != "" && filter.GetPodSandboxId() != one.sandbox.id) ||
			(filter.GetState() != nil && filter.GetState().GetState() != one.state) ||
			!contains(one.config.GetLabels(), filter.GetLabelSelector()) {
			continue
		}
		image := one.config.GetImage()
		answer.Containers = append(answer.Containers, &cri.Container{
			Id: one.id, PodSandboxId: one.sandbox.id, Metadata: one.config.GetMetadata(),
			Image: image, ImageRef: image.GetImage(), ImageId: image.GetImage(), State: one.state,
			CreatedAt: one.created, Labels: one.config.GetLabels(),
			Annotations: one.config.GetAnnotations()})
	}
	return answer, nil
}

func (t *runtimeTable) ContainerStatus(_ context.Context, asked *cri.ContainerStatusRequest) (
	*cri.ContainerStatusResponse, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	one := t.containers[asked.GetContainerId()]
	if one == nil {
		return nil, status.Errorf(codes.NotFound, "no container %s", asked.GetContainerId())
	}
	image := one.config.GetImage()
	state := &cri.ContainerStatus{
		Id: one.id, Metadata: one.config.GetMetadata(), State: one.state, CreatedAt: one.created,
		StartedAt: one.started, FinishedAt: one.ended, ExitCode: one.code, Image: image,
		ImageRef: image.GetImage(), ImageId: image.GetImage(), Labels: one.config.GetLabels(),
		Annotations: one.config.GetAnnotations(), Mounts: one.config.GetMounts(),
		LogPath: path.Join(one.sandbox.config.GetLogDirectory(), one.config.GetLogPath())}
	if one.state == cri.ContainerState_CONTAINER_EXITED {
		state.Reason = "Completed"
		if one.code != 0 {
			state.Reason = "Error"
		}
	}
	return &cri.ContainerStatusResponse{Status: state}, nil
}
