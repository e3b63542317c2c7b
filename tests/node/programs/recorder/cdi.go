package main

import (
	"fmt"
	"log"

	spec "github.com/opencontainers/runtime-spec/specs-go"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
	"tags.cncf.io/container-device-interface/pkg/cdi"
)

// cdiNames are the CDI devices of a container, each once: those of the field, then those of
// annotations.
func cdiNames(config *cri.ContainerConfig) []string {
	names := []string{}
	seen := map[string]bool{}
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	for _, device := range config.GetCDIDevices() {
		add(device.GetName())
	}
	if _, annotated, err := cdi.ParseAnnotations(config.GetAnnotations()); err == nil {
		for _, name := range annotated {
			add(name)
		}
	}
	return names
}

// containerSpec is the OCI specification of a container: the request, then the edits of CDI.
func containerSpec(config *cri.ContainerConfig) (*spec.Spec, error) {
	made := &spec.Spec{
		Process:     &spec.Process{Args: append(append([]string{}, config.GetCommand()...), config.GetArgs()...)},
		Annotations: config.GetAnnotations(),
		Linux:       &spec.Linux{Resources: &spec.LinuxResources{}},
	}
	for _, variable := range config.GetEnvs() {
		made.Process.Env = append(made.Process.Env, variable.GetKey()+"="+string(variable.GetValue()))
	}
	for _, mount := range config.GetMounts() {
		made.Mounts = append(made.Mounts, spec.Mount{
			Destination: mount.GetContainerPath(), Source: mount.GetHostPath(), Type: "bind"})
	}
	for _, device := range config.GetDevices() {
		made.Linux.Devices = append(made.Linux.Devices, spec.LinuxDevice{Path: device.GetContainerPath()})
	}
	if _, _, err := cdi.ParseAnnotations(config.GetAnnotations()); err != nil {
		return made, fmt.Errorf("failed to parse CDI device annotations: %w", err)
	}
	names := cdiNames(config)
	if len(names) == 0 {
		return made, nil
	}
	if err := cdi.Refresh(); err != nil {
		log.Printf("refresh of CDI: %v", err) // as in containerd, only what is named has to be right
	}
	if _, err := cdi.InjectDevices(made, names...); err != nil {
		return made, fmt.Errorf("CDI device injection failed: %w", err)
	}
	return made, nil
}
