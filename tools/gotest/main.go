// Command gotest runs `go test -json` and prints what a person wants to read: a
// line per package, the whole output of what failed, and the slowest tests.
//
//	tools/run gotest -race ./...
//
// With NULLOPS_TEST_RERUN=N up to N failed tests are run once more, each package
// alone on the machine, see rerun.go.
//
// With NULLOPS_TEST_STRICT=1 in the environment (`make test` sets it) a skipped
// test is a failure: there, every server a test could miss is running. A test in rotation
// (internal/testpart) that belongs to another run is not counted as skipped.
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
	r := newReport(os.Stdout, os.Getenv("NULLOPS_TEST_STRICT") == "1")
	failed := runTests(r, os.Args[1:])
	for again := 0; failed && again < 2 && r.mayRerun(rerunLimit()); again++ {
		failed = rerunFailed(r, os.Args[1:])
	}
	if failed {
		os.Exit(1)
	}
}

// runTests feeds the report with one `go test`, and says whether anything failed.
func runTests(r *report, args []string) bool {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		os.Exit(1)
	}
	defer passSignals(cmd, r)()
	readErr := readEvents(out, r)
	runErr := cmd.Wait()
	failed := r.finish()
	if err := r.noteRotation(os.Getenv("NULLOPS_TEST_ROTATION")); err != nil {
		r.print(fmt.Sprintf("gotest: the tests in rotation are not recorded: %v\n", err))
		failed = true
	}
	if err := r.noteReasons(os.Getenv("NULLOPS_TEST_REASONS")); err != nil {
		r.print(fmt.Sprintf("gotest: why tests failed is not recorded: %v\n", err))
		failed = true
	}
	var exit *exec.ExitError
	if !errors.As(runErr, &exit) && errors.Join(readErr, runErr) != nil {
		fmt.Fprintln(os.Stderr, "gotest:", errors.Join(readErr, runErr))
		r.final = true
	}
	return failed || readErr != nil || runErr != nil
}

// passSignals hands signals on: go test passes them to the tests and ends by
// itself; so do we. A second run would be ended by nobody, so there is none.
func passSignals(cmd *exec.Cmd, r *report) (stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for s := range signals {
			r.final = true
			_ = cmd.Process.Signal(s)
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
		<-done
	}
}

// readEvents feeds the report. A line that is not an event is shown as it is.
func readEvents(in io.Reader, r *report) error {
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
