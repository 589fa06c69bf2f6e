package cli

import (
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane/apiclient"
)

// What stays on a drained node is printed with why, and with what to do about it.
func TestPrintStaying_SaysWhyItStays(t *testing.T) {
	t.Parallel()
	why := "No node has room. To make room now, remove there (yours)."
	d := apiclient.NodeDrain{Node: "fra-1"}
	d.Staying = append(d.Staying, apiclient.NodeStaying{Name: "cart", StaysBecause: &why},
		apiclient.NodeStaying{Name: "leaves"})
	var out strings.Builder
	if err := printStaying(&out, d); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.HasSuffix(got, "\ncart stays: "+why+"\n") {
		t.Errorf("printed %q", got)
	}
}
