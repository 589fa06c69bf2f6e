package gate

import (
	"cmp"
	"slices"

	"github.com/nullops/nullops/controlplane"
)

const (
	maxNear     = 5
	maxDistance = 6
)

// nearestHosts returns the hosts with the smallest edit distance to the wanted one.
func nearestHosts(host string, all []controlplane.HostService) []string {
	type match struct {
		host string
		far  int
	}
	var near []match
	if len(host) > 253 {
		return nil
	}
	for _, p := range all {
		if far := editDistance(host, p.Host, maxDistance); far <= maxDistance {
			near = append(near, match{p.Host, far})
		}
	}
	slices.SortStableFunc(near, func(a, b match) int { return cmp.Compare(a.far, b.far) })
	out := []string{}
	for _, m := range near[:min(len(near), maxNear)] {
		out = append(out, m.host)
	}
	return out
}

// editDistance counts the letters to change, add or leave out between two hosts;
// more than most is most+1.
func editDistance(a, b string, most int) int {
	if max(len(a)-len(b), len(b)-len(a)) > most {
		return most + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, best := row[0], i+1
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
			best = min(best, row[j+1])
		}
		if best > most {
			return most + 1
		}
	}
	return min(row[len(b)], most+1)
}
