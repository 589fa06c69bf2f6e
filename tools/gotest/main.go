// Command gotest runs `go test -json` and prints what a person wants to read: a
// line per package, the whole output of what failed, and the slowest tests.
//
//	tools/run gotest -race ./...
//
// With NULLOPS_TEST_STRICT=1 in the environment (`make test` sets it) a skipped
// test is a failure: there, every server a test could miss is running.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

func main() {
	cmd := exec.Command("go", append([]string{"test", "-json"}, os.Args[1:]...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		os.Exit(1)
	}
	// go test passes a signal on to the tests and ends by itself; so do we.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for s := range signals {
			_ = cmd.Process.Signal(s)
		}
	}()
	r := newReport(os.Stdout, os.Getenv("NULLOPS_TEST_STRICT") == "1")
	readErr := read(out, r)
	runErr := cmd.Wait()
	if failed := r.finish(); failed || readErr != nil || runErr != nil {
		var exit *exec.ExitError
		if !errors.As(runErr, &exit) && errors.Join(readErr, runErr) != nil {
			fmt.Fprintln(os.Stderr, "gotest:", errors.Join(readErr, runErr))
		}
		os.Exit(1)
	}
}

// read feeds the report. A line that is not an event is shown as it is.
func read(in io.Reader, r *report) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) == nil && e.Action != "" {
				r.add(e)
			} else {
				r.print(string(line))
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
