package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"

	spec "github.com/opencontainers/runtime-spec/specs-go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const (
	createMethod = "/runtime.v1.RuntimeService/CreateContainer"
	startMethod  = "/runtime.v1.RuntimeService/StartContainer"
)

// raw is a message that is passed on as it came.
type raw []byte

type rawCodec struct{}

func (rawCodec) Marshal(value any) ([]byte, error) {
	if message, ok := value.(*raw); ok {
		return *message, nil
	}
	return proto.Marshal(value.(proto.Message))
}

func (rawCodec) Unmarshal(bytes []byte, value any) error {
	if message, ok := value.(*raw); ok {
		*message = append((*message)[:0:0], bytes...)
		return nil
	}
	return proto.Unmarshal(bytes, value.(proto.Message))
}

func (rawCodec) Name() string { return "proto" }

// A forwarder passes all calls to another runtime and notes which containers are made.
type forwarder struct {
	runtime  *grpc.ClientConn
	journal  *journal
	failures *failures
}

func newForwarder(path string, journal *journal, failures *failures) *grpc.Server {
	runtime, err := grpc.NewClient("unix://"+path,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(rawCodec{}),
			grpc.MaxCallRecvMsgSize(messageLimit), grpc.MaxCallSendMsgSize(messageLimit)))
	if err != nil {
		log.Fatal(err)
	}
	passer := &forwarder{runtime, journal, failures}
	return grpc.NewServer(grpc.ForceServerCodec(rawCodec{}), grpc.MaxRecvMsgSize(messageLimit),
		grpc.MaxSendMsgSize(messageLimit), grpc.UnknownServiceHandler(passer.pass))
}

// pass handles one call: every call of the API has one request and one or more answers.
func (f *forwarder) pass(_ any, kubelet grpc.ServerStream) error {
	method, ok := grpc.MethodFromServerStream(kubelet)
	if !ok {
		return errors.New("no method")
	}
	var asked raw
	if err := kubelet.RecvMsg(&asked); err != nil {
		return err
	}
	answered, err := raw(nil), f.ordered(method, asked)
	if err == nil {
		answered, err = f.exchange(kubelet, method, &asked)
	}
	// The kubelet may be gone by now; what was made is noted all the same.
	f.note(context.WithoutCancel(kubelet.Context()), method, asked, answered, err)
	return err
}

// ordered is the failure that a test has ordered for this call.
func (f *forwarder) ordered(method string, asked raw) error {
	if method != createMethod {
		return nil
	}
	var request cri.CreateContainerRequest
	if err := proto.Unmarshal(asked, &request); err != nil {
		return err
	}
	return f.failures.of("create", request.GetConfig().GetMetadata().GetName())
}

// exchange passes the request and the answers, and returns the last one.
func (f *forwarder) exchange(kubelet grpc.ServerStream, method string, asked *raw) (raw, error) {
	stream, err := f.runtime.NewStream(kubelet.Context(),
		&grpc.StreamDesc{ServerStreams: true}, method)
	if err != nil {
		return nil, err
	}
	if err := stream.SendMsg(asked); err != nil {
		return nil, err
	}
	if err := stream.CloseSend(); err != nil {
		return nil, err
	}
	var last raw
	for {
		var answer raw
		if err := stream.RecvMsg(&answer); err == io.EOF {
			return last, nil
		} else if err != nil {
			return last, err
		}
		last = answer
		if err := kubelet.SendMsg(&answer); err != nil {
			return last, err
		}
	}
}

func (f *forwarder) note(context context.Context, method string, asked, answered raw, failure error) {
	if method != createMethod && method != startMethod {
		return
	}
	var entry event
	if method == createMethod {
		var request cri.CreateContainerRequest
		if err := proto.Unmarshal(asked, &request); err != nil {
			log.Print(err)
			return
		}
		entry = describe(&request)
		var answer cri.CreateContainerResponse
		if failure == nil && proto.Unmarshal(answered, &answer) == nil {
			entry.ID = answer.GetContainerId()
		}
	} else {
		var request cri.StartContainerRequest
		if err := proto.Unmarshal(asked, &request); err != nil {
			log.Print(err)
			return
		}
		entry = event{Kind: "start", ID: request.GetContainerId()}
	}
	if failure != nil {
		entry.Error = failure.Error()
	} else if err := f.complete(context, &entry); err != nil {
		log.Printf("container %s: %v", entry.ID, err)
	}
	f.journal.add(entry)
}

// complete asks the runtime what it made of a container.
func (f *forwarder) complete(context context.Context, entry *event) error {
	var answer cri.ContainerStatusResponse
	request := &cri.ContainerStatusRequest{ContainerId: entry.ID, Verbose: entry.Kind == "create"}
	err := f.runtime.Invoke(context, "/runtime.v1.RuntimeService/ContainerStatus", request, &answer)
	if err != nil {
		return err
	}
	if entry.Kind == "start" {
		labels := answer.GetStatus().GetLabels()
		entry.Namespace, entry.Pod = labels["io.kubernetes.pod.namespace"], labels["io.kubernetes.pod.name"]
		entry.UID, entry.Container = labels["io.kubernetes.pod.uid"], labels["io.kubernetes.container.name"]
		entry.Attempt = answer.GetStatus().GetMetadata().GetAttempt()
		return nil
	}
	var info struct {
		Spec *spec.Spec `json:"runtimeSpec"`
	}
	if err := json.Unmarshal([]byte(answer.GetInfo()["info"]), &info); err != nil {
		return fmt.Errorf("the runtime's information: %w", err)
	}
	entry.Spec = info.Spec
	return nil
}
