// The only program in the images of the node tests, linked statically.
//
//	work pause                          what holds a pod's sandbox: ends on SIGTERM, reaps children
//	work show [--for=1s] [--exit=N]     prints as one line of JSON what a container was given
//	                                    (environment, devices, mounts), and ends after --for with
//	                                    exit code N, else on SIGTERM
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// device is one node under /dev; its numbers say which card it is, whatever its name says.
type device struct {
	Path  string `json:"path"`
	Major uint64 `json:"major"`
	Minor uint64 `json:"minor"`
}

type view struct {
	Environment []string `json:"env"`
	Devices     []device `json:"devices"`
	Mounts      []string `json:"mounts"`
}

func devices() []device {
	found := []device{}
	_ = filepath.WalkDir("/dev", func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil
		}
		var stat syscall.Stat_t
		if syscall.Lstat(path, &stat) == nil && stat.Mode&syscall.S_IFMT == syscall.S_IFCHR {
			number := uint64(stat.Rdev)
			found = append(found, device{path, number >> 8 & 0xfff, number&0xff | number>>12&0xfff00})
		}
		return nil
	})
	return found
}

func mounts() []string {
	text, _ := os.ReadFile("/proc/self/mountinfo")
	points := []string{}
	for _, line := range strings.Split(string(text), "\n") {
		if fields := strings.Fields(line); len(fields) > 4 {
			points = append(points, fields[4])
		}
	}
	return points
}

func pause(ended <-chan os.Signal) {
	children := make(chan os.Signal, 1)
	signal.Notify(children, syscall.SIGCHLD)
	for {
		select {
		case <-ended:
			return
		case <-children:
			for {
				if pid, _ := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 {
					break
				}
			}
		}
	}
}

func show(arguments []string, ended <-chan os.Signal) int {
	flags := flag.NewFlagSet("show", flag.ExitOnError)
	life := flags.Duration("for", 0, "how long to run; 0: until SIGTERM")
	code := flags.Int("exit", 0, "the exit code after that time")
	_ = flags.Parse(arguments)
	line, err := json.Marshal(view{os.Environ(), devices(), mounts()})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	fmt.Println(string(line))
	var over <-chan time.Time
	if *life > 0 {
		over = time.After(*life)
	}
	select {
	case <-over:
		return *code
	case <-ended:
		return 0
	}
}

func main() {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	switch {
	case len(os.Args) > 1 && os.Args[1] == "pause":
		pause(ended)
	case len(os.Args) > 1 && os.Args[1] == "show":
		os.Exit(show(os.Args[2:], ended))
	default:
		fmt.Fprintln(os.Stderr, "usage: work pause | work show [--for=1s] [--exit=N]")
		os.Exit(2)
	}
}
