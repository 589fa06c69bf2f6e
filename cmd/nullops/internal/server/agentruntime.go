package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"strings"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/kubernetes"
	"github.com/nullops/nullops/internal/durable"
	"github.com/nullops/nullops/internal/failpoint"
	"github.com/nullops/nullops/internal/logs"
)

// What deployments of a node run on.
const (
	runtimeDocker     = "docker"
	runtimeKubernetes = "kubernetes"
)

// KubernetesSettings are about the cluster that one agent has, or its part of it.
type KubernetesSettings struct {
	Kubeconfig string `description:"Kubeconfig file; empty means the pod's own account."`
	Prefix     string `description:"Beginning of the names of deployments' namespaces."`
	Helper     string `description:"Image of the helper in pods: this agent's own image."`
	// PullSecrets are those of the agent's own pod, which the chart mounts.
	PullSecrets string `description:"Folder with credentials of the helper's registry."`
	Machines    string `description:"Labels of the machines to use, a=b,c=d; empty means all."`
	// StorageClass and VolumeSize are of services' volumes: a step names no size.
	StorageClass string `description:"StorageClass of volumes; empty is the cluster's default."`
	VolumeSize   string `description:"Size that each volume asks for, such as 10Gi."`
	GPU          string `description:"What the cluster calls one GPU, such as nvidia.com/gpu."`
	// Admit is for agents outside the cluster: inside, the namespace says where they are.
	Admit string `description:"Addresses an agent outside the cluster dials from, a/32,b/32."`
}

// nodeRuntime is a runtime that an agent owns.
type nodeRuntime interface {
	agent.Runtime
	Close() error
}

// openRuntime opens what agent.runtime names.
func openRuntime(ctx context.Context, s Settings, install string, hook failpoint.Hook,
	log *slog.Logger) (nodeRuntime, error) {
	if s.Agent.Runtime != runtimeKubernetes {
		return openDocker(ctx, s, install, hook, log)
	}
	config, err := s.kubernetesConfig()
	if err != nil {
		return nil, err
	}
	config.Install, config.Log, config.Failpoint = install, logs.Of(log, "cluster"), hook
	config.CheckCluster = func(id string) error {
		return checkCluster(durable.OS{}, s.Agent.Data, id)
	}
	config.Lost = func(err error) {
		log.ErrorContext(ctx, "this agent ends at once", "error", err)
		os.Exit(1) // what runs goes on; the other agent has it now
	}
	return kubernetes.New(ctx, config)
}

func (s Settings) kubernetesConfig() (c kubernetes.Config, err error) {
	k := s.Agent.Kubernetes
	c = kubernetes.Config{Kubeconfig: k.Kubeconfig, Prefix: k.Prefix, Helper: k.Helper,
		PullSecrets: k.PullSecrets, StorageClass: k.StorageClass, VolumeSize: k.VolumeSize,
		GPUResource: k.GPU, AgentNamespace: podNamespace()}
	if c.StopGrace, err = s.stopGrace(); err != nil {
		return c, err
	}
	if c.MachineSelector, err = parseLabels(k.Machines); err != nil {
		return c, fmt.Errorf("setting agent.kubernetes.machines: %w", err)
	}
	for text := range strings.SplitSeq(k.Admit, ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return c, fmt.Errorf("setting agent.kubernetes.admit: %q is not an address range; "+
				"write one like 192.0.2.10/32", text)
		}
		c.Admit = append(c.Admit, p.Masked())
	}
	return c, nil
}

func parseLabels(text string) (map[string]string, error) {
	labels := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, fmt.Errorf("%q is not a label; write one like pool=qa", pair)
		}
		labels[key] = value
	}
	return labels, nil
}

// namespaceFile is where Kubernetes tells a pod its namespace.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// podNamespace is empty outside a pod.
func podNamespace() string {
	text, err := os.ReadFile(namespaceFile)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// checkRuntime refuses what cannot work before anything is opened.
func (a AgentSettings) checkRuntime() error {
	switch a.Runtime {
	case runtimeDocker:
		return nil
	case runtimeKubernetes:
	default:
		return fmt.Errorf("setting agent.runtime: %q is none; write docker or kubernetes",
			a.Runtime)
	}
	k, errs := a.Kubernetes, []error{
		optionalPath("agent.kubernetes.kubeconfig", a.Kubernetes.Kubeconfig),
		optionalPath("agent.kubernetes.pullsecrets", a.Kubernetes.PullSecrets)}
	if k.Kubeconfig != "" {
		if _, err := os.Stat(k.Kubeconfig); err != nil {
			errs = append(errs, fmt.Errorf("setting agent.kubernetes.kubeconfig: %w", err))
		}
	}
	if k.Helper == "" {
		errs = append(errs, errors.New("setting agent.kubernetes.helper is empty: name this "+
			"agent's own image, such as registry.example.com/nullops/agent:1.0; its helper "+
			"starts in each pod"))
	}
	_, err := Settings{Agent: a}.kubernetesConfig()
	return errors.Join(append(errs, err)...)
}
