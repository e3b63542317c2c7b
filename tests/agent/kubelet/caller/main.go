// A client with the real gRPC that tries a server of ours (grpc_server.cc) in every way that a
// kubelet could. Prints what is wrong; exit code 1 if anything is.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

const patience = 30 * time.Second

// plain passes messages on as they are.
type plain struct{}

func (plain) Name() string                        { return "plain" }
func (plain) Marshal(message any) ([]byte, error) { return *message.(*[]byte), nil }
func (plain) Unmarshal(text []byte, message any) error {
	*message.(*[]byte) = append([]byte(nil), text...)
	return nil
}

type caller struct {
	connection *grpc.ClientConn
}

func (c caller) call(ctx context.Context, method, question string) (string, error) {
	in, out := []byte(question), []byte{}
	err := c.connection.Invoke(ctx, method, &in, &out)
	return string(out), err
}

func (c caller) open(ctx context.Context, method, question string) (grpc.ClientStream, error) {
	stream, err := c.connection.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method)
	if err != nil {
		return nil, err
	}
	in := []byte(question)
	if err := stream.SendMsg(&in); err != nil {
		return nil, err
	}
	return stream, stream.CloseSend()
}

func expect(err error, code codes.Code, words string) error {
	if status.Code(err) != code || !strings.Contains(status.Convert(err).Message(), words) {
		return fmt.Errorf("expected %v with %q, got %v", code, words, err)
	}
	return nil
}

func (c caller) echoes(ctx context.Context) error {
	for _, size := range []int{0, 1, 65535, 65536, 3 << 20} {
		question := strings.Repeat("x", size)
		answer, err := c.call(ctx, "/t.S/Echo", question)
		if err != nil || answer != question {
			return fmt.Errorf("of %d bytes %d came back: %v", size, len(answer), err)
		}
	}
	return nil
}

func (c caller) manyAtOnce(ctx context.Context) error {
	var group sync.WaitGroup
	failures := make(chan error, 500)
	for i := range 500 {
		group.Add(1)
		go func() {
			defer group.Done()
			question := strings.Repeat(fmt.Sprint(i), 1000)
			if answer, err := c.call(ctx, "/t.S/Echo", question); err != nil || answer != question {
				failures <- fmt.Errorf("call %d: %v", i, err)
			}
		}()
	}
	group.Wait()
	close(failures)
	return <-failures
}

func (c caller) statuses(ctx context.Context) error {
	_, err := c.call(ctx, "/t.S/Fail", "5 no such pod: 100% \u20ac\nsecond line")
	if err := expect(err, codes.NotFound, "no such pod: 100% \u20ac\nsecond line"); err != nil {
		return err
	}
	_, err = c.call(ctx, "/t.S/None", "x")
	if err := expect(err, codes.Unimplemented, "unknown method /t.S/None"); err != nil {
		return err
	}
	_, err = c.call(ctx, "/t.S/Drop", "x")
	if err := expect(err, codes.Internal, "the call was not answered"); err != nil {
		return err
	}
	_, err = c.call(ctx, "/t.S/Echo", strings.Repeat("x", 5<<20))
	return expect(err, codes.ResourceExhausted, "longer than")
}

func (c caller) deadlines(ctx context.Context) error {
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	_, err := c.call(short, "/t.S/Hold", "x")
	if err := expect(err, codes.DeadlineExceeded, ""); err != nil {
		return err
	}
	return c.echoes(ctx)
}

func (c caller) streams(ctx context.Context) error {
	for _, row := range []struct{ count, size int }{{0, 0}, {1000, 1000}, {20, 1 << 20}} {
		stream, err := c.open(ctx, "/t.S/Count", fmt.Sprintf("%d %d", row.count, row.size))
		if err != nil {
			return err
		}
		count := 0
		for ; ; count++ {
			var message []byte
			if err = stream.RecvMsg(&message); err != nil {
				break
			}
			if len(message) != row.size {
				return fmt.Errorf("a message of %d bytes instead of %d", len(message), row.size)
			}
		}
		if err != io.EOF || count != row.count {
			return fmt.Errorf("%d messages instead of %d: %v", count, row.count, err)
		}
	}
	return nil
}

// A stream that stays open, as ListAndWatch does, while calls go on beside it.
func (c caller) watches(ctx context.Context) error {
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.open(watching, "/t.S/Watch", "x")
	if err != nil {
		return err
	}
	for i := range 20 {
		var message []byte
		if err := stream.RecvMsg(&message); err != nil {
			return err
		}
		if string(message) != fmt.Sprint(i) {
			return fmt.Errorf("message %d is %q", i, message)
		}
		if err := c.echoes(ctx); err != nil {
			return err
		}
	}
	cancel()
	var message []byte
	for err == nil {
		err = stream.RecvMsg(&message)
	}
	if err := expect(err, codes.Canceled, ""); err != nil {
		return err
	}
	for { // the server hears of it
		answer, err := c.call(ctx, "/t.S/Closed", "")
		if err != nil || answer == "1" {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func run(socket string) error {
	connection, err := grpc.NewClient("unix:"+socket,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(plain{})))
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := caller{connection}
	for _, step := range []struct {
		name string
		run  func(context.Context) error
	}{{"echoes", c.echoes}, {"many at once", c.manyAtOnce}, {"statuses", c.statuses},
		{"deadlines", c.deadlines}, {"streams", c.streams}, {"watches", c.watches}} {
		if err := step.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Println("ok:", step.name)
	}
	return nil
}

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}
