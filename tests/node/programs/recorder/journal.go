package main

import (
	"sync"
	"time"

	spec "github.com/opencontainers/runtime-spec/specs-go"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// An event is one thing that happened to a container. The fields about the request are set in
// events of kind "create", which is also written for calls that fail; "error" says why they did.
type event struct {
	Number    int       `json:"number"`
	Kind      string    `json:"kind"` // create, start, end, remove
	At        time.Time `json:"at"`
	ID        string    `json:"id,omitempty"`
	Namespace string    `json:"namespace"`
	Pod       string    `json:"pod"`
	UID       string    `json:"uid"`
	Container string    `json:"container"`
	Attempt   uint32    `json:"attempt"`
	Error     string    `json:"error,omitempty"`
	ExitCode  int32     `json:"exit_code,omitempty"`

	PodAnnotations map[string]string `json:"pod_annotations,omitempty"`
	Request        *request          `json:"request,omitempty"`
	Spec           *spec.Spec        `json:"spec,omitempty"` // with the edits of CDI
}

// A request is what the kubelet put into CreateContainer.
type request struct {
	Env         [][2]string       `json:"env"`
	CDIDevices  []string          `json:"cdi_devices"` // of the field, then of annotations
	Devices     []*cri.Device     `json:"devices"`
	Mounts      []*cri.Mount      `json:"mounts"`
	Annotations map[string]string `json:"annotations"`
	Command     []string          `json:"command"`
}

// A journal keeps all events, in order.
type journal struct {
	mutex  sync.Mutex
	events []event
}

func (j *journal) add(entry event) {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	entry.Number = len(j.events)
	entry.At = time.Now()
	j.events = append(j.events, entry)
}

func (j *journal) from(number int) []event {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	if number < 0 || number >= len(j.events) {
		return []event{}
	}
	return append([]event{}, j.events[number:]...)
}

// describe fills in whose container a request is about, and what it asks for.
func describe(asked *cri.CreateContainerRequest) event {
	config, sandbox := asked.GetConfig(), asked.GetSandboxConfig()
	wanted := &request{
		CDIDevices:  cdiNames(config),
		Devices:     config.GetDevices(),
		Mounts:      config.GetMounts(),
		Annotations: config.GetAnnotations(),
		Command:     append(append([]string{}, config.GetCommand()...), config.GetArgs()...),
	}
	for _, variable := range config.GetEnvs() {
		wanted.Env = append(wanted.Env, [2]string{variable.GetKey(), string(variable.GetValue())})
	}
	return event{
		Kind:           "create",
		Namespace:      sandbox.GetMetadata().GetNamespace(),
		Pod:            sandbox.GetMetadata().GetName(),
		UID:            sandbox.GetMetadata().GetUid(),
		Container:      config.GetMetadata().GetName(),
		Attempt:        config.GetMetadata().GetAttempt(),
		PodAnnotations: sandbox.GetAnnotations(),
		Request:        wanted,
	}
}
