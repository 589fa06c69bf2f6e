package docker_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/internal/mask"
	"github.com/nullops/nullops/internal/testpart"
)

// The engine cuts lines at 16 KiB and gives each piece a time. They come whole, with
// one time, when they are read and when they are followed; a tail that begins inside
// a line shows no half of a secret.
func TestLogs_LongLinesAreWhole(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	const secret = "correct-horse-battery-staple"
	r := newRig(t)
	id := r.deployment()
	r.start(r.service(id, "web"))
	sizes := []int{16<<10 - 14, 16 << 10, 32 << 10, 40_000, 1 << 20}
	for _, n := range sizes {
		r.get(id, "web", fmt.Sprintf("/line?n=%d&text=%s", n-len(secret)/2, secret))
	}
	// Followed first: it waits until the engine has stored the last piece.
	for _, follow := range []bool{true, false} {
		logs, err := r.Logs(t.Context(), id, "web", agent.LogOptions{Follow: follow})
		if err != nil {
			t.Fatal(err)
		}
		// "serving on 80" twice comes before.
		lines := readSome(t, logs, 2+len(sizes))
		for i, n := range sizes {
			_, text, _ := strings.Cut(lines[2+i], " ")
			if want := strings.Repeat("x", n-len(secret)/2) + secret; text != want {
				t.Errorf("follow %v: a line of %d bytes came as %d: %.80q", follow, len(want),
					len(text), text)
			}
		}
		if err := logs.Close(); err != nil {
			t.Error(err)
		}
	}
	r.get(id, "web", fmt.Sprintf("/line?n=%d&text=%s", 16<<10-len(secret)/2, secret))
	logs, err := r.Logs(t.Context(), id, "web",
		agent.LogOptions{Tail: 1, Mask: mask.New([]string{secret})})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = logs.Close() }()
	text, err := io.ReadAll(logs)
	if err != nil || strings.Contains(string(text), "staple") ||
		!strings.Contains(string(text), "[secret]") {
		t.Errorf("the tail is %.80q, %v", text, err)
	}
}

// readSome reads so many lines.
func readSome(t *testing.T, r io.Reader, count int) []string {
	t.Helper()
	var all []string
	var line strings.Builder
	buffer := make([]byte, 64<<10)
	for len(all) < count {
		n, err := r.Read(buffer)
		for _, b := range buffer[:n] {
			if b != '\n' {
				line.WriteByte(b)
				continue
			}
			all = append(all, line.String())
			line.Reset()
		}
		if err != nil && len(all) < count {
			t.Fatalf("%d lines came of %d: %v", len(all), count, err)
		}
	}
	return all
}
