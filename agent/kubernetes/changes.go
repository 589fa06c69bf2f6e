package kubernetes

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/nullops/nullops/agent"
)

// changes follows the pods of the installation.
type changes struct {
	*base
	services *services
}

// WatchChanges sends a hint on every change of a pod, and on every new watch: changes before it are
// not repeated.
func (ch *changes) WatchChanges(ctx context.Context) <-chan struct{} {
	return agent.FollowChanges(ctx, ch.watchPods)
}

// watchPods reports whether a watch was opened. The API server ends each after some minutes, and
// with an error if it does not know any more what came before.
func (ch *changes) watchPods(ctx context.Context, sendHint func()) bool {
	w, err := ch.pods.watch(ctx, ch.names.ownSelector())
	if err != nil {
		ch.log.DebugContext(ctx, "watch pods", "error", err)
		return false
	}
	defer w.Stop()
	sendHint()
	for e := range w.ResultChan() {
		if e.Type == watch.Error {
			return false
		}
		if pod, is := e.Object.(*corev1.Pod); is {
			ch.services.noteMove(pod)
		}
		sendHint()
	}
	return true
}
