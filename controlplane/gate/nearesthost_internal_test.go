package gate

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nullops/nullops/controlplane"
)

// plainDistance is the definition of the edit distance, without a bound and without
// tricks.
func plainDistance(a, b string) int {
	if a == "" || b == "" {
		return len(a) + len(b)
	}
	change := 1
	if a[0] == b[0] {
		change = 0
	}
	return min(plainDistance(a[1:], b[1:])+change, plainDistance(a[1:], b)+1,
		plainDistance(a, b[1:])+1)
}

func TestEditDistance_IsExactUpToTheBound(t *testing.T) {
	t.Parallel()
	word := rapid.StringMatching(`[ab.]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		most := rapid.IntRange(0, 6).Draw(t, "most")
		want := min(plainDistance(a, b), most+1)
		if got := editDistance(a, b, most); got != want {
			t.Fatalf("from %q to %q, at most %d: %d, want %d", a, b, most, got, want)
		}
	})
}

func TestNearestHosts_OffersTheNearestFirstAndFew(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		hosts := rapid.SliceOf(rapid.StringMatching(`[ab]{1,9}`)).Draw(t, "hosts")
		wanted := rapid.StringMatching(`[ab]{1,9}`).Draw(t, "wanted")
		var all []controlplane.HostService
		var near []int
		for _, h := range hosts {
			all = append(all, controlplane.HostService{Host: h})
			if far := editDistance(wanted, h, 9); far <= maxDistance {
				near = append(near, far)
			}
		}
		slices.Sort(near)
		var got []int
		for _, h := range nearestHosts(wanted, all) {
			got = append(got, editDistance(wanted, h, 9))
		}
		if !slices.Equal(got, near[:min(len(near), maxNear)]) {
			t.Fatalf("distances %v, want the first %d of %v", got, maxNear, near)
		}
	})
}

// A secret has one of our prefixes and as many letters as we give it; what has not is none.
func TestHasSecretForm(t *testing.T) {
	t.Parallel()
	letters := strings.Repeat("A", 26)
	for text, want := range map[string]bool{
		"nogv_" + letters: true, "nogx_" + letters: true, "nog_" + letters: false,
		"nogvv_" + letters: false, "nopv_" + letters: false, "nogv_A" + letters: false,
		"nogv_" + letters[1:]: false, "nogv" + letters: false, "nogv": false, "": false,
	} {
		if hasSecretForm(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
