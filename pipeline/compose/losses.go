package compose

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/compose-spec/compose-go/v2/types"

	"github.com/nullops/nullops/pipeline"
)

// escapeReferences keeps text that looks like a reference of a pipeline as
// text: for Compose it is nothing but text.
func escapeReferences(s string) string { return strings.ReplaceAll(s, "${{", "$${{") }

func escapeAll(all []string) []string {
	out := slices.Clone(all)
	for i := range out {
		out[i] = escapeReferences(out[i])
	}
	return out
}

// exactCPU takes the shortest number that means the same, since the library
// reads 0.1 as a float32, which would become 0.10000000149.
func exactCPU(cpu float32) float64 {
	exact, err := strconv.ParseFloat(strconv.FormatFloat(float64(cpu), 'g', -1, 32), 64)
	if err != nil {
		return float64(cpu)
	}
	return exact
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && addr.Unmap().IsLoopback()
}

func isUnspecified(host string) bool {
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && addr.IsUnspecified()
}

// maxExposed is the most ports that one range of expose may have.
const maxExposed = 100

func (r *composeReader) exposedPorts(s types.ServiceConfig) []int {
	var all []int
	for _, text := range s.Expose {
		numbers, protocol, _ := strings.Cut(text, "/")
		from, to, isRange := strings.Cut(numbers, "-")
		if !isRange {
			to = from
		}
		first, err1 := strconv.Atoi(from)
		last, err2 := strconv.Atoi(to)
		if protocol != "" && protocol != "tcp" || err1 != nil || err2 != nil || first < 1 ||
			last > 65535 || last < first || last-first >= maxExposed {
			r.addNote(s.Name, "expose", "%s is not carried over; name TCP ports, or a range of at most %d",
				text, maxExposed)
			continue
		}
		for n := first; n <= last; n++ {
			all = append(all, n)
		}
	}
	return all
}

// findJobs lists the services that others wait for until they have completed.
func (r *composeReader) findJobs() {
	r.jobs = map[string]bool{}
	for _, s := range r.project.Services {
		for on, dependency := range s.DependsOn {
			if dependency.Condition == types.ServiceConditionCompletedSuccessfully {
				r.jobs[on] = true
			}
		}
	}
}

// readRestart differs from Compose, where a service without the field stays down. A job stays
// down here as well: restarted, it would never be done.
func (r *composeReader) readRestart(s types.ServiceConfig) pipeline.Restart {
	switch {
	case s.Restart == "no", s.Restart == "" && r.jobs[s.Name]:
		return pipeline.RestartNever
	case s.Restart == "always", s.Restart == "unless-stopped":
	case s.Restart == "":
		r.addNote(s.Name, "restart", `it is restarted whenever it ends; write restart: "no" if it `+
			"should stay down, as it would in Compose")
	case r.jobs[s.Name]:
		r.addNote(s.Name, "restart", "%s is not supported; it is not restarted, since another service "+
			"waits for its end", s.Restart)
		return pipeline.RestartNever
	default:
		r.addNote(s.Name, "restart", "%s is not supported; it is restarted whenever it ends", s.Restart)
	}
	return ""
}

func (r *composeReader) noteCondition(s types.ServiceConfig, on string) {
	if s.DependsOn[on].Condition == types.ServiceConditionCompletedSuccessfully {
		r.addNote(s.Name, "depends_on", "it waits until %s is ready, not until it has completed "+
			"successfully; without a health check, a service is ready when it ends with code 0 or has "+
			"run for 5 seconds", on)
	}
}
