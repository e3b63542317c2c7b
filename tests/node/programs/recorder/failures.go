package main

import (
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// failures are the calls that a test has ordered to fail.
type failures struct {
	mutex sync.Mutex
	left  map[string]int // "create NAME" or "start NAME" -> how many calls are still to fail
}

func (f *failures) next(at, name string, times int) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.left[at+" "+name] = times
}

// of is the failure of this call, if one was ordered.
func (f *failures) of(at, name string) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	key := at + " " + name
	if f.left[key] == 0 {
		return nil
	}
	f.left[key]--
	return status.Errorf(codes.Unknown, "the test lets %s of %s fail", at, name)
}
