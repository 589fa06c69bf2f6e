package server

import "testing"

func TestGarbagePercent(t *testing.T) {
	for _, c := range []struct {
		name string
		live uint64
		want int
	}{
		{"before the first collection", 0, 600},
		{"small", 12 << 20, 200},
		{"as much as the floor allows", 80 << 20, 30},
		{"large", 1 << 30, 30},
	} {
		if got := garbagePercent(c.live); got != c.want {
			t.Errorf("%s: %d bytes live: %d, want %d", c.name, c.live, got, c.want)
		}
	}
}
