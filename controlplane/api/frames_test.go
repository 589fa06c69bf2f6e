package api_test

import (
	"reflect"
	"testing"

	"github.com/nullops/nullops/agent/sidecar"
	"github.com/nullops/nullops/controlplane/apiclient"
)

// The control plane passes frames on between a client and the helper in a service, so that both
// must mean the same by them.
func TestFrames_ClientAndHelperAgree(t *testing.T) {
	t.Parallel()
	for client, helper := range map[apiclient.FrameKind]sidecar.FrameKind{
		apiclient.FrameInput: sidecar.FrameInput, apiclient.FrameEnd: sidecar.FrameEnd,
		apiclient.FrameWindow: sidecar.FrameWindow, apiclient.FrameOutput: sidecar.FrameOutput,
		apiclient.FrameErrors: sidecar.FrameErrors, apiclient.FrameExit: sidecar.FrameExit,
	} {
		if byte(client) != byte(helper) {
			t.Errorf("the client says %c, the helper %c", client, helper)
		}
	}
	if apiclient.MaxFrame != sidecar.MaxFrame {
		t.Errorf("frames have up to %d and %d bytes", apiclient.MaxFrame, sidecar.MaxFrame)
	}
	for client, helper := range map[reflect.Type]reflect.Type{
		reflect.TypeFor[apiclient.TerminalSize](): reflect.TypeFor[sidecar.Window](),
		reflect.TypeFor[apiclient.CommandExit]():  reflect.TypeFor[sidecar.Exit](),
	} {
		if !client.ConvertibleTo(helper) {
			t.Errorf("%s and %s have different fields", client, helper)
		}
		for i := range min(client.NumField(), helper.NumField()) {
			if client.Field(i).Tag != helper.Field(i).Tag {
				t.Errorf("%s and %s spell %s differently", client, helper, client.Field(i).Name)
			}
		}
	}
}
