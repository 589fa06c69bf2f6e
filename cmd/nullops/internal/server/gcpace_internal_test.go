package server

import "testing"

func TestGarbagePercent(t *testing.T) {
	for _, c := range []struct {
		name string
		live uint64
		most int
		want int
	}{
		{"before the first collection", 0, controlPlaneGarbage, 600},
		{"small", 12 << 20, controlPlaneGarbage, 200},
		{"as much as the floor allows", 80 << 20, controlPlaneGarbage, 30},
		{"large", 1 << 30, controlPlaneGarbage, 18},
		{"small ingress", 6 << 20, ingressGarbage, 400},
		{"large ingress", 1 << 30, ingressGarbage, 100},
	} {
		if got := garbagePercent(c.live, c.most); got != c.want {
			t.Errorf("%s: %d bytes live: %d, want %d", c.name, c.live, got, c.want)
		}
	}
}
