package pipeline

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// checkProcess checks how the container's first process is started and ended.
func (v *validator) checkProcess(s *ServiceStep) {
	cleared := len(s.Entrypoint) == 1 && s.Entrypoint[0] == ""
	if cleared && len(s.Command) == 0 {
		v.addProblem(v.kind+".command", "required", "the %s has neither an entrypoint nor a "+
			"command; the image's command does not count once an entrypoint is given", v.kind)
	}
	if cleared && len(s.Command) > 0 && s.Command[0] == "" {
		v.addProblem(v.kind+".command[0]", "required", "the program to start has no name")
	}
	for i, arg := range s.Entrypoint {
		at := fmt.Sprintf("%s.entrypoint[%d]", v.kind, i)
		if i == 0 && arg == "" && !cleared {
			v.addProblem(at, "required", "the program to start has no name")
		}
		v.checkCommand(at, arg)
		v.checkStringSize(at, len(arg))
	}
	if s.User != "" && !IsUser(s.User) {
		v.addProblem(v.kind+".user", "user", "%q is not a user; give a name or a number, and a group "+
			"after a colon if needed: 1000:1000", s.User)
	}
	if s.StopSignal != "" && !IsSignal(s.StopSignal) {
		v.addProblem(v.kind+".stop_signal", "signal", "%q is not a signal of Linux; give a name, such "+
			"as SIGTERM, or a number from 1 to %d", s.StopSignal, maxSignal)
	}
	if s.StopGraceSeconds < 0 || s.StopGraceSeconds > MaxStopGraceSeconds {
		v.addProblem(v.kind+".stop_grace_seconds", "range", "%d seconds; give 1 to %d, or 0 for the "+
			"usual 10", s.StopGraceSeconds, MaxStopGraceSeconds)
	}
}

// IsUser reports whether the container engine takes a user. That a name exists
// in the image, only the engine can say.
func IsUser(s string) bool {
	user, group, grouped := strings.Cut(s, ":")
	return isAccount(user) && (!grouped || isAccount(group))
}

func isAccount(s string) bool {
	if matchesExpression(`^[0-9]+$`, s) {
		n, err := strconv.ParseUint(s, 10, 64)
		return err == nil && n <= math.MaxInt32
	}
	return len(s) <= maxPathPart && matchesExpression(`^[A-Za-z_][A-Za-z0-9_.-]*\$?$`, s)
}

// maxSignal is Linux's last signal, SIGRTMAX.
const maxSignal = 64

// IsSignal takes what the container engine takes: names with and without SIG,
// in any case, and numbers.
func IsSignal(s string) bool {
	if n, err := strconv.Atoi(s); err == nil {
		return n >= 1 && n <= maxSignal && strconv.Itoa(n) == s
	}
	name := strings.TrimPrefix(strings.ToUpper(s), "SIG")
	known := []string{"ABRT", "ALRM", "BUS", "CHLD", "CLD", "CONT", "FPE", "HUP", "ILL", "INT",
		"IO", "IOT", "KILL", "PIPE", "POLL", "PROF", "PWR", "QUIT", "SEGV", "STKFLT", "STOP",
		"SYS", "TERM", "TRAP", "TSTP", "TTIN", "TTOU", "URG", "USR1", "USR2", "VTALRM", "WINCH",
		"XCPU", "XFSZ", "RTMIN", "RTMAX"}
	return slices.Contains(known, name) || matchesExpression(`^RTMIN\+([1-9]|1[0-5])$`, name) ||
		matchesExpression(`^RTMAX-([1-9]|1[0-4])$`, name)
}

// maxExtraHosts keeps a container's hosts file readable.
const maxExtraHosts = 100

func (v *validator) checkExtraHosts(hosts []ExtraHost) {
	if len(hosts) > maxExtraHosts {
		v.addProblem(v.kind+".extra_hosts", "too_many", "%d hosts; %d are the most", len(hosts),
			maxExtraHosts)
	}
	seen := map[ExtraHost]bool{}
	for i, h := range hosts {
		at := fmt.Sprintf("%s.extra_hosts[%d]", v.kind, i)
		if !IsHostName(h.Name) {
			v.addProblem(at+".name", "name", "%q is not a host name", h.Name)
		}
		if addr, err := netip.ParseAddr(h.Address); err != nil || addr.Zone() != "" {
			v.addProblem(at+".address", "address", "%q is not an IP address; give one, such as "+
				"192.0.2.10 or 2001:db8::10", h.Address)
		}
		if seen[h] {
			v.addProblem(at, "duplicate", "%s is listed twice with the address %s", h.Name, h.Address)
		}
		seen[h] = true
	}
}

// IsHostName takes underscores too: Compose's services have them.
func IsHostName(s string) bool {
	for part := range strings.SplitSeq(s, ".") {
		if !matchesExpression(`^[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$`, part) {
			return false
		}
	}
	return len(s) <= 253
}
