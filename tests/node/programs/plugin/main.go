// The smallest device plugin that decides late: it proves the bed, and shows what a kubelet does.
//
//	plugin --resource NAME --devices N --state DIR [--folder DIR] [--cdi DIR]
//
// Allocate names a CDI device that no allocation had before; PreStartContainer writes its
// specification, with the ids that the kubelet chose, so a container without it cannot start. It
// registers again when the kubelet's socket is new or its stream ends. Prints a line of JSON for
// every call.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	"tags.cncf.io/container-device-interface/pkg/cdi"
	cdispec "tags.cncf.io/container-device-interface/specs-go"
)

const (
	kind = "bed.test/card"
	// The runtime reads a new specification after inotify has told it.
	settle = 30 * time.Millisecond
	// How long a kubelet may take to see that a stream has ended.
	settleOld = 200 * time.Millisecond
)

type plugin struct {
	api.UnimplementedDevicePluginServer
	resource, state, specs string
	count                  int
	mutex                  sync.Mutex
	streams                chan bool // true where one begins, false where one ends
	output                 *json.Encoder
	allocations            map[string]string // ids -> name of the CDI device
}

func (p *plugin) say(call string, ids []string, name string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	_ = p.output.Encode(map[string]any{"call": call, "ids": ids, "cdi": name, "at": time.Now()})
}

func (p *plugin) GetDevicePluginOptions(context.Context, *api.Empty) (*api.DevicePluginOptions, error) {
	p.say("options", nil, "")
	return &api.DevicePluginOptions{PreStartRequired: true}, nil
}

func (p *plugin) ListAndWatch(_ *api.Empty, stream grpc.ServerStreamingServer[api.ListAndWatchResponse]) error {
	p.say("list", nil, "")
	answer := &api.ListAndWatchResponse{}
	for number := range p.count {
		answer.Devices = append(answer.Devices,
			&api.Device{ID: fmt.Sprintf("card-%d", number), Health: api.Healthy})
	}
	if err := stream.Send(answer); err != nil {
		return err
	}
	p.streams <- true
	<-stream.Context().Done()
	p.streams <- false
	return nil
}

// key is the same for a set of ids in any order.
func key(ids []string) string {
	sorted := append([]string{}, ids...)
	sort.Strings(sorted)
	return strings.Join(sorted, "+")
}

// save keeps the allocations over a restart.
func (p *plugin) save() error {
	text, err := json.Marshal(p.allocations)
	if err != nil {
		return err
	}
	path := filepath.Join(p.state, "allocations.json")
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func (p *plugin) load() {
	text, err := os.ReadFile(filepath.Join(p.state, "allocations.json"))
	if err == nil {
		err = json.Unmarshal(text, &p.allocations)
	}
	if err != nil && !os.IsNotExist(err) {
		log.Fatal(err)
	}
}

func (p *plugin) Allocate(_ context.Context, asked *api.AllocateRequest) (*api.AllocateResponse, error) {
	answer := &api.AllocateResponse{}
	for _, container := range asked.GetContainerRequests() {
		name := fmt.Sprintf("once-%d", time.Now().UnixNano())
		p.mutex.Lock()
		p.allocations[key(container.GetDevicesIds())] = name
		err := p.save()
		p.mutex.Unlock()
		if err != nil {
			return nil, err
		}
		p.say("allocate", container.GetDevicesIds(), name)
		answer.ContainerResponses = append(answer.ContainerResponses, &api.ContainerAllocateResponse{
			Envs:       map[string]string{"BED_ALLOCATED": key(container.GetDevicesIds())},
			CdiDevices: []*api.CDIDevice{{Name: kind + "=" + name}}})
	}
	return answer, nil
}

func (p *plugin) PreStartContainer(_ context.Context, asked *api.PreStartContainerRequest) (
	*api.PreStartContainerResponse, error) {
	ids := asked.GetDevicesIds()
	p.mutex.Lock()
	name := p.allocations[key(ids)]
	p.mutex.Unlock()
	p.say("prestart", ids, name)
	if name == "" {
		return nil, fmt.Errorf("no allocation of %v", ids)
	}
	path := filepath.Join(p.specs, "bed-"+name+".json")
	if _, err := os.Stat(path); err == nil {
		return &api.PreStartContainerResponse{}, nil
	}
	edits := cdispec.ContainerEdits{Env: []string{"BED_CARDS=" + key(ids)}}
	for _, id := range ids {
		edits.DeviceNodes = append(edits.DeviceNodes,
			&cdispec.DeviceNode{Path: "/dev/bed/" + id, HostPath: "/dev/null"})
	}
	text, err := json.Marshal(cdispec.Spec{Version: "0.5.0", Kind: kind,
		Devices: []cdispec.Device{{Name: name, ContainerEdits: edits}}})
	if err != nil {
		return nil, err
	}
	// In the same folder, and not named as a specification until it is whole.
	if err := os.WriteFile(path+".new", text, 0o644); err != nil {
		return nil, err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return nil, err
	}
	time.Sleep(settle)
	return &api.PreStartContainerResponse{}, nil
}

// register tells the kubelet of a socket.
func (p *plugin) register(folder, endpoint string) error {
	kubelet, err := grpc.NewClient("unix://"+filepath.Join(folder, "kubelet.sock"),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer kubelet.Close()
	limited, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, err = api.NewRegistrationClient(kubelet).Register(limited, &api.RegisterRequest{
		Version: api.Version, Endpoint: endpoint, ResourceName: p.resource})
	p.say("register", nil, fmt.Sprint(err))
	return err
}

// serve serves on a new socket and registers it, until its stream ends.
func (p *plugin) serve(folder string) {
	endpoint := fmt.Sprintf("bed-%d.sock", time.Now().UnixNano())
	path := filepath.Join(folder, endpoint)
	listener, err := net.Listen("unix", path)
	if err != nil {
		return // the kubelet has not made the folder yet
	}
	server := grpc.NewServer(grpc.WaitForHandlers(true))
	api.RegisterDevicePluginServer(server, p)
	go func() { _ = server.Serve(listener) }()
	defer func() {
		server.Stop()
		_ = os.Remove(path)
		for len(p.streams) > 0 {
			<-p.streams
		}
	}()
	if p.register(folder, endpoint) != nil {
		return
	}
	for {
		select {
		case began := <-p.streams:
			if !began {
				return
			}
		case <-time.After(100 * time.Millisecond):
			if _, err := os.Stat(path); err != nil {
				return // somebody emptied the folder
			}
		}
	}
}

func main() {
	made := &plugin{output: json.NewEncoder(os.Stdout), allocations: map[string]string{},
		streams: make(chan bool, 16)}
	flag.StringVar(&made.resource, "resource", "bed.test/card", "extended resource")
	flag.IntVar(&made.count, "devices", 8, "number of devices")
	flag.StringVar(&made.state, "state", "", "folder that survives a restart")
	flag.StringVar(&made.specs, "cdi", cdi.DefaultDynamicDir, "folder of CDI specifications")
	folder := flag.String("folder", "/var/lib/kubelet/device-plugins", "the kubelet's folder")
	flag.Parse()
	if made.state == "" {
		flag.Usage()
		os.Exit(2)
	}
	made.load()
	for {
		before, _ := os.Stat(filepath.Join(*folder, "kubelet.sock"))
		made.serve(*folder)
		after, _ := os.Stat(filepath.Join(*folder, "kubelet.sock"))
		time.Sleep(20 * time.Millisecond)
		if before != nil && after != nil && os.SameFile(before, after) {
			// Kubelets before 1.37 disconnect whoever has the resource when they see that the old
			// stream has ended.
			time.Sleep(settleOld)
		}
	}
}
