package sidecar_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nullops/nullops/agent/sidecar"
)

// Only who listens on loopback and nowhere else is named. The tables are those of a
// little-endian machine.
func TestLoopbackOnly(t *testing.T) {
	const head = "  sl  local_address rem_address   st tx_queue rx_queue\n"
	const v4, any4 = "0100007F:1F90", "00000000:1F90"
	const v6, any6 = "00000000000000000000000001000000:1F90", "00000000000000000000000000000000:1F90"
	const mapped = "0000000000000000FFFF00000100007F:1F90"
	line := func(local, state string) string {
		return fmt.Sprintf("   0: %s 00000000:0000 %s 00000000:00000000\n", local, state)
	}
	for name, c := range map[string]struct{ tcp, tcp6, want string }{
		"nobody":          {"", "", "[]"},
		"IPv4":            {line(v4, "0A"), "", "[127.0.0.1:8080]"},
		"IPv6":            {"", line(v6, "0A"), "[[::1]:8080]"},
		"both":            {line(v4, "0A"), line(v6, "0A"), "[127.0.0.1:8080 [::1]:8080]"},
		"twice":           {line(v4, "0A") + line(v4, "0A"), line(mapped, "0A"), "[127.0.0.1:8080]"},
		"everywhere too":  {line(v4, "0A") + line(any4, "0A"), "", "[]"},
		"everywhere IPv6": {line(v4, "0A"), line(any6, "0A"), "[]"},
		"one address too": {line(v4, "0A") + line("0200000A:1F90", "0A"), "", "[]"},
		"another port":    {line("0100007F:1F91", "0A"), "", "[]"},
		"connected":       {line(v4, "01"), "", "[]"},
		"Docker's DNS":    {line("0B00007F:1F90", "0A"), "", "[]"},
		"nonsense":        {"x: y z 0A\n", "0: 01:1F90 0 0A\n", "[]"},
		"a long address":  {line("0100007Fz:1F90", "0A"), "", "[]"},
		"a large port":    {line("0100007F:11F90", "0A"), "", "[]"},
		"four fields":     {"0: " + v4 + " x 0A\n", "", "[127.0.0.1:8080]"},
		"two addresses": {line("0200007F:1F90", "0A") + line(v4, "0A"), line(mapped, "0A"),
			"[127.0.0.1:8080 127.0.0.2:8080]"},
	} {
		dir := t.TempDir()
		for table, text := range map[string]string{"tcp": c.tcp, "tcp6": c.tcp6} {
			if err := os.WriteFile(filepath.Join(dir, table), []byte(head+text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := sidecar.FindLoopbackOnly(dir, 8080)
		if err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v, %v instead of %s", name, got, err, c.want)
		}
	}
}

// A kernel may lack IPv6. A table that is there has to be readable.
func TestLoopbackOnly_WantsTheTables(t *testing.T) {
	dir := t.TempDir()
	if _, err := sidecar.FindLoopbackOnly(dir, 80); err == nil {
		t.Error("without tables nothing fails")
	}
	if err := os.WriteFile(filepath.Join(dir, "tcp"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := sidecar.FindLoopbackOnly(dir, 80); err != nil || got != nil {
		t.Errorf("without IPv6: %v, %v", got, err)
	}
	if err := os.Mkdir(filepath.Join(dir, "tcp6"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := sidecar.FindLoopbackOnly(dir, 80); err == nil {
		t.Error("a table that cannot be read is left out")
	}
}

// The role reads the namespace that it runs in.
func TestLoopbackRole(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	at := l.Addr().(*net.TCPAddr)
	c := exec.CommandContext(t.Context(), os.Args[0], "loopback", fmt.Sprint(at.Port))
	c.Env = append(os.Environ(), asSidecar+"=1")
	if out, err := c.Output(); err != nil || strings.TrimSpace(string(out)) != at.String() {
		t.Errorf("it prints %q, %v", out, err)
	}
}
