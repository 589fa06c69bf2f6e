package agent

import (
	"strings"

	"github.com/nullops/nullops/agent/mask"
)

const (
	// ProbeOutput is how much of what a check says a Runtime gives, in bytes. It is
	// much more than is shown: of a secret that is cut there nothing is left to see.
	ProbeOutput = 4 << 10
	// shownOutput is how much of that people see.
	shownOutput = 512
)

// shownProbe makes one short line of what a check said. Secrets are looked for first:
// nobody would find half of one, or one whose spaces are others.
func shownProbe(m *mask.Masker, said string) string {
	said = m.Mask(strings.ToValidUTF8(said, "\uFFFD"))
	said = strings.Join(strings.Fields(said), " ")
	if len(said) > shownOutput {
		said = strings.ToValidUTF8(said[:shownOutput], "") + "…"
	}
	return said
}
