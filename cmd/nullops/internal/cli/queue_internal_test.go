package cli

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane/apiclient"
)

// What 'node set' has no flag for stays as it was.
func TestNodeSet_ChangesOnlyWhatIsNamed(t *testing.T) {
	before := apiclient.NodePut{Environment: "qa", Address: "10.0.0.1:5000",
		Settings: &apiclient.NodeSettings{RunLimit: nilIfZero(4), Priority: nilIfZero(10),
			Labels: &map[string]string{"zone": "fra", "old": ""},
			Taints: &[]apiclient.Taint{{Key: "slow", Effect: apiclient.TaintEffectPreferNoSchedule},
				{Key: "gpu", Effect: apiclient.TaintEffectNoSchedule}}}}
	edit := nodeEdit{labels: []string{"disk=nvme", "zone=ber"}, unlabel: []string{"old"},
		taints: []string{"slow=very:no_schedule"}, untaint: []string{"gpu"}, runLimit: 0}
	after := before
	err := edit.apply(&after, func(flag string) bool { return flag == "run-limit" })
	if err != nil {
		t.Fatal(err)
	}
	want := apiclient.NodePut{Environment: "qa", Address: "10.0.0.1:5000",
		Settings: &apiclient.NodeSettings{Priority: nilIfZero(10),
			Labels: &map[string]string{"zone": "ber", "disk": "nvme"},
			Taints: &[]apiclient.Taint{{Key: "slow", Value: nilIfZero("very"),
				Effect: apiclient.TaintEffectNoSchedule}}}}
	if !reflect.DeepEqual(after, want) {
		t.Errorf("got %+v, want %+v", *after.Settings, *want.Settings)
	}
	if (*before.Settings.Labels)["zone"] != "fra" {
		t.Error("what was read was changed")
	}
	bare := apiclient.NodePut{Environment: "qa", Address: "10.0.0.1:5000"}
	err = nodeEdit{reactive: true}.apply(&bare, func(f string) bool { return f == "reactive" })
	if text, _ := json.Marshal(bare.Settings); err != nil || string(text) != `{"reactive":true}` {
		t.Errorf("of a node without settings it sends %s: %v", text, err)
	}
	edit.taints = []string{"no-effect"}
	if err := edit.apply(&after, func(string) bool { return false }); err == nil ||
		!strings.Contains(err.Error(), "KEY[=VALUE]:EFFECT") {
		t.Errorf("a taint without an effect: %v", err)
	}
}

func TestQueue_IsTold(t *testing.T) {
	queued := time.Now().Add(-time.Hour)
	started := queued.Add(10 * time.Minute)
	ended := started.Add(5 * time.Minute)
	d := apiclient.Deployment{Queue: &apiclient.QueueEntry{QueuedAt: queued, Position: nilIfZero(2),
		Reason: nilIfZero("No node has room.")}}
	if got := queueLine(d); got != "waits 1 h, number 2 in the queue: No node has room." {
		t.Error(got)
	}
	if got := queueLine(apiclient.Deployment{}); got != "" {
		t.Error(got)
	}
	q := &apiclient.QueueEntry{QueuedAt: queued, StartedAt: &started, EndedAt: &ended, Attempts: 2}
	if got := runLine(q); got !=
		"queued 1 h ago, started after 10 min, ended after 5 min, 2 attempts" {
		t.Error(got)
	}
	for _, o := range []queueOptions{
		{deadline: -time.Hour}, {wait: true, deadline: time.Millisecond},
	} {
		if err := o.fillRequest(&apiclient.DeploymentCreate{}); err == nil ||
			!strings.Contains(err.Error(), "--deadline") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	var body apiclient.DeploymentCreate
	patient := queueOptions{wait: true, deadline: 90 * time.Second}
	if err := patient.fillRequest(&body); err != nil ||
		!*body.Wait || *body.Priority != 0 || *body.DeadlineSeconds != 90 {
		t.Errorf("%+v: %v", body, err)
	}
}
