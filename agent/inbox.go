package agent

import (
	"sync"
	"time"
)

// inbox holds the tasks for the loop. Posting never blocks. The queue needs no limit
// because the number of operations that can post is bounded.
type inbox struct {
	mu    sync.Mutex
	tasks []func(now time.Time)
	wake  chan struct{}
}

func newInbox() *inbox { return &inbox{wake: make(chan struct{}, 1)} }

func (i *inbox) addTask(task func(now time.Time)) {
	i.mu.Lock()
	i.tasks = append(i.tasks, task)
	i.mu.Unlock()
	select {
	case i.wake <- struct{}{}:
	default:
	}
}

func (i *inbox) takeAll() []func(now time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	tasks := i.tasks
	i.tasks = nil
	return tasks
}
