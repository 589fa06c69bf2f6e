package compose

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/compose-spec/compose-go/v2/types"
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
