package agent

import (
	"strings"

	"github.com/nullops/nullops/internal/mask"
	"github.com/nullops/nullops/internal/text"
)

const (
	// ProbeOutput is how much of a readiness check's output a Runtime returns, in bytes. It is
	// much more than is shown, so that a secret cut at this limit lies outside the part that is
	// shown.
	ProbeOutput = 4 << 10
	// maxProbeOutput is how much of that people see.
	maxProbeOutput = 512
	// maxReason is how much of the reason of a failure people see, in bytes.
	maxReason = 1 << 10
)

// maskProbeOutput makes one short line of a readiness check's output. It masks before it
// shortens: part of a secret, or one with changed white space, would not be recognized.
func maskProbeOutput(m *mask.Masker, said string) string {
	return text.CleanLine(m.Mask(strings.ToValidUTF8(said, "\uFFFD")), maxProbeOutput)
}
