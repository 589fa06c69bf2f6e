package text_test

import (
	"testing"

	"github.com/nullops/nullops/internal/text"
)

func TestClip_EndsBetweenTwoCharacters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in    string
		limit int
		want  string
	}{
		{"", 3, ""}, {"abc", 3, "abc"}, {"abcd", 3, "abc…"}, {"abc", 0, "…"},
		{"aäb", 2, "a…"}, {"aäb", 3, "aä…"}, {"aä", 3, "aä"},
		{"🙂🙂", 7, "🙂…"}, {"🙂🙂", 3, "…"},
		{"\xbf\xbf\xbf", 2, "…"},
	} {
		if got := text.Clip(c.in, c.limit); got != c.want {
			t.Errorf("Clip(%q, %d) = %q, not %q", c.in, c.limit, got, c.want)
		}
	}
}
