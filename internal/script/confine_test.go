package script_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/nullops/nullops/internal/script"
)

// probeRole is the role of the test binary that tries everything a script could try once it
// has broken out of the interpreter.
const probeRole = "confined-probe"

// probe confines itself as the runner does and reports which attempts succeeded.
func probe() {
	// In a namespace of its own the process sees no parent.
	parent := max(os.Getppid(), 1)
	if err := script.Confine(); err != nil {
		fmt.Println(`{"confine": "` + err.Error() + `"}`)
		os.Exit(0)
	}
	if err := script.LimitResources(script.Request{}); err != nil {
		fmt.Println(`{"limit": "` + err.Error() + `"}`)
		os.Exit(0)
	}
	raw := func(number uintptr, args ...uintptr) error {
		args = append(args, 0, 0, 0, 0, 0)
		_, _, errno := unix.RawSyscall6(number, args[0], args[1], args[2], args[3], args[4], 0)
		if errno != 0 {
			return errno
		}
		return nil
	}
	second := func(_ int, err error) error { return err }
	broke := map[string]string{}
	for name, err := range map[string]error{
		"open":             second(unix.Open("/etc/passwd", unix.O_RDONLY, 0)),
		"openat":           second(unix.Openat(unix.AT_FDCWD, "/proc/1/mem", unix.O_RDONLY, 0)),
		"create":           second(unix.Open("/tmp/was-here", unix.O_CREAT|unix.O_WRONLY, 0o600)),
		"socket":           second(unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)),
		"unix":             second(unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)),
		"raw":              second(unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, 0)),
		"fork":             raw(unix.SYS_CLONE, uintptr(unix.SIGCHLD)),
		"exec":             unix.Exec("/bin/true", []string{"true"}, nil),
		"kill":             unix.Kill(parent, 0),
		"tgkill":           unix.Tgkill(os.Getpid()+1, os.Getpid()+1, 0),
		"ptrace":           unix.PtraceAttach(parent),
		"mount":            unix.Mount("none", "/mnt", "tmpfs", 0, ""),
		"chroot":           unix.Chroot("/"),
		"unlink":           unix.Unlink("/etc/passwd"),
		"chmod":            unix.Chmod("/tmp", 0o777),
		"setuid":           raw(unix.SYS_SETUID, 0),
		"prctl":            unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0),
		"unshare":          unix.Unshare(unix.CLONE_NEWUSER),
		"uring":            raw(unix.SYS_IO_URING_SETUP, 1),
		"bpf":              raw(unix.SYS_BPF, 0),
		"stat":             unix.Stat("/etc/passwd", &unix.Stat_t{}),
		"memfd":            second(unix.MemfdCreate("x", 0)),
		"limit of another": unix.Prlimit(parent, unix.RLIMIT_CPU, nil, &unix.Rlimit{}),
		"raise a limit":    unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 1, Max: 1}),
		"keyring":          raw(unix.SYS_ADD_KEY, 0),
		"x32":              raw(0x40000000 | unix.SYS_GETPID),
	} {
		if err == nil {
			broke[name] = "succeeded"
		}
	}
	if os.Geteuid() == 0 {
		broke["uid"] = "is root"
	}
	if len(os.Environ()) > 0 {
		broke["environment"] = strings.Join(os.Environ(), " ")
	}
	text, _ := json.Marshal(broke)
	fmt.Println(string(text))
	os.Exit(0)
}

// A break-out of the interpreter gains nothing: the process has no rights, whichever user runs the
// agent and whatever the machine permits.
//
// promise: N-330
func TestConfine_LeavesNothing(t *testing.T) {
	for _, user := range []int{0, 12345} {
		for _, namespaces := range []bool{true, false} {
			t.Run(fmt.Sprintf("user %d, namespaces %v", user, namespaces), func(t *testing.T) {
				attributes := script.ConfinedAttributes(namespaces)
				if user != 0 {
					if os.Geteuid() != 0 {
						t.Skip("only root can become another user")
					}
					id := uint32(user)
					attributes.Credential = &syscall.Credential{Uid: id, Gid: id}
				}
				c := exec.Command(testBinary(t), probeRole)
				c.SysProcAttr, c.Env = attributes, []string{"LEAK=1"}
				c.Dir = "/"
				text, err := c.Output()
				if err != nil {
					if namespaces && errors.Is(err, syscall.EPERM) {
						t.Skip("this machine permits no namespaces: ", err)
					}
					t.Fatalf("%v: %s", err, text)
				}
				var broke map[string]string
				if err := json.Unmarshal(text, &broke); err != nil || len(broke) > 0 {
					t.Errorf("the confined process: %s (%v)", text, err)
				}
			})
		}
	}
}

// testBinary is a copy of the test binary that any user can run.
func testBinary(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp("/tmp", "script-probe")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(folder, "probe")
	if err := os.WriteFile(at, text, 0o755); err != nil {
		t.Fatal(err)
	}
	return at
}
