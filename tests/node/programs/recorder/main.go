// A container runtime that writes down what the kubelet asks of it.
//
// It serves the kubelet's runtime API (CRI). Without --forward its containers are entries in a
// table: they end when their command says so (work show --for=1s --exit=3), when the kubelet stops
// them or when a test asks for it. With --forward it passes every call on to a real runtime and only
// takes notes. CDI names are resolved as containerd does it: by the same library, with its cache
// that inotify refreshes.
//
//	recorder --listen SOCKET --control SOCKET [--forward SOCKET] [--cdi DIR,DIR]
//
// The control socket speaks HTTP:
//
//	GET  /events?from=N                      a JSON array of the events from number N on
//	POST /fail?container=NAME&at=create&times=N   the next calls for that name fail
//	POST /end?id=CONTAINER&code=N            a container of the table ends
package main

import (
	"flag"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"google.golang.org/grpc"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
	"tags.cncf.io/container-device-interface/pkg/cdi"
)

// messageLimit is what the kubelet and containerd allow.
const messageLimit = 16 << 20

func listen(path string) net.Listener {
	_ = os.Remove(path)
	listener, err := net.Listen("unix", path)
	if err != nil {
		log.Fatal(err)
	}
	return listener
}

func main() {
	address := flag.String("listen", "", "socket of the runtime API")
	control := flag.String("control", "", "socket of the tests")
	forward := flag.String("forward", "", "socket of a real runtime")
	folders := flag.String("cdi", "/etc/cdi,/var/run/cdi", "folders of CDI specifications")
	flag.Parse()
	if *address == "" || *control == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	journal := &journal{}
	failures := &failures{left: map[string]int{}}
	var table *runtimeTable
	var server *grpc.Server
	if *forward != "" {
		server = newForwarder(*forward, journal, failures)
	} else {
		if err := cdi.Configure(cdi.WithSpecDirs(strings.Split(*folders, ",")...)); err != nil {
			log.Print(err) // a specification that cannot be read; the others count
		}
		table = newRuntimeTable(journal, failures)
		server = grpc.NewServer(grpc.MaxRecvMsgSize(messageLimit), grpc.MaxSendMsgSize(messageLimit))
		cri.RegisterRuntimeServiceServer(server, table)
		cri.RegisterImageServiceServer(server, images{})
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	handler := controlHandler(journal, failures, table)
	go func() { log.Fatal(http.Serve(listen(*control), handler)) }()
	listener := listen(*address)
	go func() {
		<-ended
		server.Stop()
	}()
	if err := server.Serve(listener); err != nil {
		log.Fatal(err)
	}
}
