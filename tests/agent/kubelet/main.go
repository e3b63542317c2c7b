// A double of the kubelet's podresources service, with the real gRPC and the real messages.
//
// It answers as a kubelet does: one entry for every device and each of its NUMA nodes, in the random
// order of a map; v1 without pods that have ended, v1alpha1 with them; too many questions get
// ResourceExhausted; SIGTERM ends the process and leaves the socket behind, which the next one
// replaces.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/kubelet/pkg/apis/podresources/v1"
	"k8s.io/kubelet/pkg/apis/podresources/v1alpha1"
)

type device struct {
	Resource string   `json:"resource"`
	IDs      []string `json:"ids"`
	NUMA     []int64  `json:"numa"`
}

type container struct {
	Name    string   `json:"name"`
	CPUs    []int64  `json:"cpus"`
	Devices []device `json:"devices"`
}

type pod struct {
	Namespace  string      `json:"namespace"`
	Name       string      `json:"name"`
	Ended      bool        `json:"ended"`
	Containers []container `json:"containers"`
}

// podFile is a list of pods that is read again when the file has changed.
type podFile struct {
	path  string
	mutex sync.Mutex
	seen  os.FileInfo
	pods  []pod
}

func (f *podFile) read() []pod {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.path == "" {
		return nil
	}
	found, err := os.Stat(f.path)
	if err != nil {
		log.Printf("the pods stay as they were: %v", err)
		return f.pods
	}
	if f.seen != nil && os.SameFile(f.seen, found) && f.seen.ModTime().Equal(found.ModTime()) {
		return f.pods
	}
	text, err := os.ReadFile(f.path)
	var pods []pod
	if err == nil {
		err = json.Unmarshal(text, &pods)
	}
	if err != nil {
		log.Printf("the pods stay as they were: %v", err)
		return f.pods
	}
	f.seen, f.pods = found, pods
	return pods
}

// entries are the devices of a container as the kubelet tells them.
func (c container) entries() []*v1.ContainerDevices {
	instances := map[string]device{}
	for _, group := range c.Devices {
		for _, id := range group.IDs {
			instances[group.Resource+" "+id] = device{group.Resource, []string{id}, group.NUMA}
		}
	}
	var out []*v1.ContainerDevices
	for _, instance := range instances {
		if len(instance.NUMA) == 0 {
			out = append(out, &v1.ContainerDevices{
				ResourceName: instance.Resource, DeviceIds: instance.IDs})
		}
		for _, node := range instance.NUMA {
			out = append(out, &v1.ContainerDevices{
				ResourceName: instance.Resource, DeviceIds: instance.IDs,
				Topology: &v1.TopologyInfo{Nodes: []*v1.NUMANode{{ID: node}}}})
		}
	}
	return out
}

type newService struct {
	v1.UnimplementedPodResourcesListerServer
	file       *podFile
	terminated bool
}

func (s newService) List(context.Context, *v1.ListPodResourcesRequest) (
	*v1.ListPodResourcesResponse, error) {
	answer := &v1.ListPodResourcesResponse{}
	for _, each := range s.file.read() {
		if each.Ended && !s.terminated {
			continue
		}
		told := &v1.PodResources{Name: each.Name, Namespace: each.Namespace}
		for _, c := range each.Containers {
			told.Containers = append(told.Containers, &v1.ContainerResources{
				Name: c.Name, CpuIds: c.CPUs, Devices: c.entries()})
		}
		answer.PodResources = append(answer.PodResources, told)
	}
	return answer, nil
}

type oldService struct {
	v1alpha1.UnimplementedPodResourcesListerServer
	file *podFile
}

func (s oldService) List(context.Context, *v1alpha1.ListPodResourcesRequest) (
	*v1alpha1.ListPodResourcesResponse, error) {
	answer := &v1alpha1.ListPodResourcesResponse{}
	for _, each := range s.file.read() {
		told := &v1alpha1.PodResources{Name: each.Name, Namespace: each.Namespace}
		for _, c := range each.Containers {
			listed := &v1alpha1.ContainerResources{Name: c.Name}
			for _, entry := range c.entries() {
				listed.Devices = append(listed.Devices, &v1alpha1.ContainerDevices{
					ResourceName: entry.ResourceName, DeviceIds: entry.DeviceIds})
			}
			told.Containers = append(told.Containers, listed)
		}
		answer.PodResources = append(answer.PodResources, told)
	}
	return answer, nil
}

// gate is what a call passes first: the limit of calls a second, and a kubelet that is slow.
func gate(limit *rate.Limiter, slow time.Duration) grpc.UnaryServerInterceptor {
	return func(ctx context.Context, request any, info *grpc.UnaryServerInfo,
		handler grpc.UnaryHandler) (any, error) {
		if limit != nil && !limit.Allow() {
			log.Printf("%s: limited", info.FullMethod)
			return nil, status.Error(codes.ResourceExhausted, "rejected by rate limit")
		}
		select {
		case <-time.After(slow):
		case <-ctx.Done():
			log.Printf("%s: nobody waits any more", info.FullMethod)
			return nil, ctx.Err()
		}
		log.Printf("%s: answered", info.FullMethod)
		return handler(ctx, request)
	}
}

func run() error {
	socket := flag.String("socket", "", "path of the socket; one that is there is replaced")
	file := flag.String("pods", "", "JSON file of the pods, read again when it changes")
	protocols := flag.String("protocols", "v1,v1alpha1", "versions that are served")
	qps := flag.Float64("qps", 100, "calls a second, 0: no limit")
	burst := flag.Int("burst", 10, "calls at once")
	slow := flag.Duration("slow", 0, "how long every answer takes")
	terminated := flag.Bool("terminated", false,
		"v1 lists pods that have ended, as before Kubernetes 1.34")
	graceful := flag.Bool("graceful", false, "on SIGTERM calls under way are answered first")
	flag.Parse()

	var limit *rate.Limiter
	if *qps > 0 {
		limit = rate.NewLimiter(rate.Limit(*qps), *burst)
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(gate(limit, *slow)))
	pods := &podFile{path: *file}
	for _, protocol := range strings.Split(*protocols, ",") {
		switch protocol {
		case "v1":
			v1.RegisterPodResourcesListerServer(
				server, newService{file: pods, terminated: *terminated})
		case "v1alpha1":
			v1alpha1.RegisterPodResourcesListerServer(server, oldService{file: pods})
		default:
			return fmt.Errorf("-protocols: %q is none", protocol)
		}
	}

	if err := os.Remove(*socket); err != nil && !os.IsNotExist(err) {
		return err
	}
	listener, err := net.Listen("unix", *socket)
	if err != nil {
		return err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	go func() {
		<-signals
		if *graceful {
			server.GracefulStop()
		}
		os.Exit(0)
	}()
	fmt.Println("ready")
	return server.Serve(listener)
}

func main() {
	log.SetFlags(log.Ltime | log.Lmicroseconds)
	if err := run(); err != nil {
		log.Fatal(err)
	}
	select {} // a graceful stop ends the process
}
