package kubernetes

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/sidecar"
)

func testMachine(ready corev1.ConditionStatus, since time.Duration) *corev1.Node {
	return &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: ready,
		LastTransitionTime: metav1.NewTime(time.Now().Add(-since))}}}}
}

func testPod(kind agent.ObjectKind, volumes ...corev1.Volume) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "one",
		Labels: map[string]string{labelKind: string(kind)}},
		Spec: corev1.PodSpec{Volumes: volumes}}
}

// A pod on a machine that does not answer is taken for gone only where that can do no harm: a
// plugin when its lease is over, everything else when the cluster has given its services away, and
// what writes to a volume only with the volume. A machine that answers ends its pods itself.
func TestMayRemoveLost(t *testing.T) {
	t.Parallel()
	b := &base{config: Config{LostAfter: time.Minute}, pluginLeases: newPluginLeases()}
	b.pluginLeases.began = time.Now().Add(-time.Hour)
	gone := testMachine(corev1.ConditionUnknown, 2*time.Minute)
	blinks, works := testMachine(corev1.ConditionUnknown, 5*time.Second),
		testMachine(corev1.ConditionTrue, time.Hour)
	service, claims := testPod(agent.KindService), testPod(agent.KindService, claimVolume("v", "c"))
	for name, c := range map[string]struct {
		pod     *corev1.Pod
		machine *corev1.Node
		which   lostPods
		want    bool
	}{
		"ready":             {service, works, wholeDeployment, false},
		"lost":              {service, gone, nothingShared, true},
		"just lost":         {service, blinks, wholeDeployment, false},
		"volume":            {claims, gone, nothingShared, false},
		"volume goes too":   {claims, gone, wholeDeployment, true},
		"plugin":            {testPod(agent.KindPlugin), blinks, nothingShared, true},
		"plugin that works": {testPod(agent.KindPlugin), works, nothingShared, false},
	} {
		if got := b.mayRemoveLost(c.pod, c.machine, c.which); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	b.pluginLeases.extend("one", time.Now())
	if b.mayRemoveLost(testPod(agent.KindPlugin), gone, wholeDeployment) {
		t.Error("a plugin is taken for ended whose lease was just extended")
	}
	b.pluginLeases.extend("one", time.Now().Add(-sidecar.PluginLease-leaseMargin/2))
	if b.mayRemoveLost(testPod(agent.KindPlugin), gone, wholeDeployment) {
		t.Error("a plugin is taken for ended that is just being killed")
	}
	b.pluginLeases.extend("one", time.Now().Add(-sidecar.PluginLease-2*leaseMargin))
	if !b.mayRemoveLost(testPod(agent.KindPlugin), gone, wholeDeployment) {
		t.Error("a plugin without a lease is not taken for ended")
	}
	b.pluginLeases.forget("one")
	b.pluginLeases.began = time.Now()
	if b.mayRemoveLost(testPod(agent.KindPlugin), gone, wholeDeployment) {
		t.Error("a plugin is taken for ended that the agent before may have just heard")
	}
}

// What there is can be listed although a pod that is removed in the background does not end.
func TestList_DoesNotWaitForALostPod(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"items": []}`))
	}))
	t.Cleanup(server.Close)
	api, err := newCluster(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	k := assembleParts(&base{cluster: api, names: newNames("nullops", "test"),
		sweeps: newSweeps()})
	gone := make(chan struct{})
	defer close(gone)
	k.sweeps.begin(func() { <-gone })
	if _, err := k.List(t.Context()); err != nil {
		t.Error(err)
	}
}
