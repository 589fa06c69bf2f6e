package controlplane_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
)

// Whatever prints, logs or marshals an opened secret gets "[secret]".
//
// threat: T48
func TestPlain_NeverShows(t *testing.T) {
	const canary = "canary-plain-value"
	p := controlplane.NewPlain(canary)
	type wrapped struct {
		P   controlplane.Plain
		Ptr *controlplane.Plain
		M   map[string]controlplane.Plain
		S   controlplane.Sealed
	}
	w := wrapped{P: p, Ptr: &p, M: map[string]controlplane.Plain{"a": p},
		S: controlplane.Sealed(canary)}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "p", p, "w", w, "s", w.S)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "p", p, "w", w, "s", w.S)
	marshaled, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	shown := log.String() + string(marshaled) + errors.Join(fmt.Errorf("open %v", p)).Error()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		shown += fmt.Sprintf(verb, p) + fmt.Sprintf(verb, w) + fmt.Sprintf(verb, w.S)
	}
	for _, form := range []string{canary, fmt.Sprintf("%x", canary), "99 97 110"} {
		if strings.Contains(shown, form) {
			t.Errorf("shown: %s", shown)
		}
	}
	if p.Reveal() != canary || !strings.Contains(shown, "[secret]") {
		t.Error("the value is lost, or nothing stands for it")
	}
}

func TestValidName(t *testing.T) {
	for name, ok := range map[string]bool{
		"a": true, "cart-2": true, "0": true, strings.Repeat("a", 40): true,
		"": false, "-a": false, "a-": false, "A": false, "a.b": false, "a_b": false, "é": false,
		strings.Repeat("a", 41): false, "a\n": false,
	} {
		err := controlplane.ValidName("name", name)
		var said *controlplane.Error
		if (err == nil) != ok || !ok && (!errors.As(err, &said) || said.Field != "name") {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestParseThumbprint(t *testing.T) {
	want := strings.Repeat("ab", 32)
	colons := strings.TrimSuffix(strings.Repeat("AB:", 32), ":")
	for _, s := range []string{want, strings.ToUpper(want), colons} {
		if got, err := controlplane.ParseThumbprint("thumbprint", s); string(got) != want {
			t.Errorf("%q: %v %v", s, got, err)
		}
	}
	for _, s := range []string{"", want[1:], want + "a", "g" + want[1:]} {
		if _, err := controlplane.ParseThumbprint("thumbprint", s); err == nil {
			t.Errorf("%q was accepted", s)
		}
	}
}

// What is gone stays gone: no end has a way out.
func TestDeployment_CannotLeaveItsEnd(t *testing.T) {
	for _, from := range controlplane.DeploymentStatuses() {
		for _, to := range controlplane.DeploymentStatuses() {
			if from.IsGone() && from != to && from.CanMove(to) {
				t.Errorf("%s can become %s", from, to)
			}
		}
	}
}

// Only a person brings an untrusted node back.
func TestNode_UntrustedNeverGoesOnlineByItself(t *testing.T) {
	if controlplane.NodeUntrusted.CanMove(controlplane.NodeOnline) ||
		controlplane.NodeDisabled.CanMove(controlplane.NodeOnline) {
		t.Error("a node that waits for a person can come online")
	}
}

func TestCut(t *testing.T) {
	items := []int{1, 2, 3}
	cursor := func(i int) string { return fmt.Sprint(i) }
	if got, next := controlplane.CutPage(controlplane.Page{Limit: 2}, items, cursor); len(got) != 2 ||
		next != "2" {
		t.Errorf("%v %q", got, next)
	}
	if got, next := controlplane.CutPage(controlplane.Page{Limit: 3}, items, cursor); len(got) != 3 ||
		next != "" {
		t.Errorf("%v %q", got, next)
	}
}
