package wire_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/previoustest"
)

// Each message that the previous release sends, in both directions and with every field that it
// knows, decodes to the same values: agents store them on their disks, so they meet this release
// whatever the two programs say to each other.
func TestMessages_OfThePreviousRelease(t *testing.T) {
	if previoustest.IsRecording() {
		recordMessages(t)
		return
	}
	var all map[string]map[string]json.RawMessage
	previoustest.ReadJSON(t, "messages.json", &all)
	for kind, messages := range all {
		for name, data := range messages {
			again, _, err := reencode(kind, data)
			if err != nil {
				t.Errorf("%s %s: %v", kind, name, err)
				continue
			}
			var before, after any
			if err := json.Unmarshal(data, &before); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(again, &after); err != nil {
				t.Fatal(err)
			}
			// promise: R-03
			for _, lost := range missingFields(name, before, after) {
				t.Errorf("%s: %s", kind, lost)
			}
		}
		if len(messages) < 10 {
			t.Errorf("the fixtures have %d %ss only", len(messages), kind)
		}
	}
}

// recordMessages writes each message with every field.
func recordMessages(t *testing.T) {
	t.Helper()
	all := map[string]map[string]json.RawMessage{"command": {}, "report": {}}
	for kind, messages := range all {
		for name, sample := range readSamples(t, kind) {
			_, m, err := reencode(kind, sample)
			if err != nil {
				t.Fatal(err)
			}
			filled := reflect.New(reflect.TypeOf(m))
			previoustest.Fill(filled.Interface())
			if messages[name], err = encodeMessage(kind, filled.Elem().Interface()); err != nil {
				t.Fatalf("%s %s: %v", kind, name, err)
			}
			if _, _, err := reencode(kind, messages[name]); err != nil {
				t.Logf("%s %s with every field is refused, its sample is taken: %v", kind, name, err)
				messages[name] = sample
			}
		}
	}
	data, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	previoustest.Record(t, "messages.json", append(data, '\n'))
}

func encodeMessage(kind string, m any) ([]byte, error) {
	if kind == "command" {
		return wire.EncodeCommand(m.(wire.Command))
	}
	return wire.EncodeReport(m.(wire.Report))
}
