package controlplane_test

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/nullops/nullops/controlplane"
)

// What cannot be a label is refused, with the place that it stands in.
func TestPlacement_RefusesBadGrammar(t *testing.T) {
	bad := map[string]string{"empty": "", "space": "a b", "hyphen at the end": "zone-",
		"no key": "=x", "value with a space": "zone=a b", "too long": strings.Repeat("k", 64),
		"long value": "k=" + strings.Repeat("v", 64), "quotes": `zone="a"`, "two values": "a=b=c",
		"line break": "a\n", "direction mark": "a\u202eb"}
	for why, text := range bad {
		selectors := []controlplane.Selector{controlplane.Selector(text)}
		for field, p := range map[string]controlplane.Placement{
			"placement.required[0]":  {Required: selectors},
			"placement.forbidden[0]": {Forbidden: selectors},
			"placement.preferred[0]": {Preferred: selectors},
			"placement.tolerations[0]": {Tolerations: []controlplane.Toleration{
				controlplane.Toleration(text)}},
		} {
			_, err := p.Normalize("placement")
			if err == nil || !strings.HasPrefix(err.Error(), field+": ") {
				t.Errorf("%s in %s: %v", why, field, err)
			}
		}
	}
	_, err := controlplane.Placement{Required: []controlplane.Selector{"a", "b=1"},
		Forbidden: []controlplane.Selector{"b=1"}}.Normalize("placement")
	if err == nil || !strings.Contains(err.Error(), "b=1 is both required and forbidden") {
		t.Errorf("contradiction: %v", err)
	}
}

func TestNodeSettings_RefusesWhatIsNone(t *testing.T) {
	for says, s := range map[string]controlplane.NodeSettings{
		"labels.a b":       {Labels: controlplane.Labels{"a b": ""}},
		"labels.a":         {Labels: controlplane.Labels{"a": "x y"}},
		"labels.nullops/x": {Labels: controlplane.Labels{"nullops/x": "1"}},
		"taints[0]":        {Taints: []controlplane.Taint{{Key: "", Effect: "no_schedule"}}},
		"taints[0].effect": {Taints: []controlplane.Taint{{Key: "a", Effect: "NoSchedule"}}},
		"run_limit":        {RunLimit: -1},
		"disk_floor_mib":   {DiskFloorMiB: 1 << 40},
		"priority":         {Priority: 256},
	} {
		if _, err := s.Normalize(); err == nil || !strings.HasPrefix(err.Error(), says+": ") {
			t.Errorf("%s: %v", says, err)
		}
	}
}

// Checking twice changes nothing, and what was checked is equal however it was
// written: that is what makes applying a document twice change nothing.
func TestPlacement_HasOneSpelling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.SampledFrom([]controlplane.Selector{"a", "b=1", "c", "d/e=f.g"})
		all := rapid.SliceOfN(word, 0, 6).Draw(t, "selectors")
		one, err := controlplane.Placement{Preferred: all}.Normalize("placement")
		if err != nil {
			t.Fatal(err)
		}
		shuffled := append(rapid.Permutation(all).Draw(t, "order"), all...)
		two, err := controlplane.Placement{Preferred: shuffled}.Normalize("placement")
		if err != nil || !reflect.DeepEqual(one, two) {
			t.Fatalf("%+v and %+v: %v", one, two, err)
		}
		if again := one.Combine(two); !reflect.DeepEqual(one, again) {
			t.Fatalf("%+v and %+v", one, again)
		}
	})
}
