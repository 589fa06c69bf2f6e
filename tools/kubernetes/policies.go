package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
)

// enforcer stands in for a network plugin that enforces policies, which cannot be had here as a Go
// module: it reads the NetworkPolicies that the cluster stores, and writes rules of the kernel's
// packet filter into the network namespace that it runs in, that of the first machine. It knows
// what our policies use and no more: an address range must be the last peer of a policy.
type enforcer struct {
	api   kubernetes.Interface
	rules string
}

// lookEvery is the pause between two looks at what the cluster stores.
const lookEvery = 200 * time.Millisecond

func newPoliciesCommand() *cobra.Command {
	var kubeconfig string
	c := &cobra.Command{Use: "policies", SilenceUsage: true,
		RunE: func(c *cobra.Command, _ []string) error {
			api, err := connect(kubeconfig)
			if err != nil {
				return err
			}
			ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			return (&enforcer{api: api}).enforce(ctx)
		}}
	c.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig file")
	return c
}

// enforce enforces the policies until ctx ends, and says when it has begun.
func (e *enforcer) enforce(ctx context.Context) error {
	if err := e.write(ctx); err != nil {
		return err
	}
	for _, chain := range []string{"FORWARD", "INPUT"} {
		if err := run("", "iptables", "-w", "-I", chain, "-j", "POLICIES"); err != nil {
			return err
		}
		defer func() { _ = run("", "iptables", "-w", "-D", chain, "-j", "POLICIES") }()
	}
	fmt.Println("enforcing")
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lookEvery):
		}
		if err := e.write(ctx); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

func run(stdin string, command ...string) error {
	c := exec.Command(command[0], command[1:]...)
	c.Stdin = strings.NewReader(stdin)
	if output, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w %s\n%s", strings.Join(command, " "), err, output, stdin)
	}
	return nil
}

// write brings the rules to what the cluster stores now.
func (e *enforcer) write(ctx context.Context) error {
	var all metav1.ListOptions
	pods, err := e.api.CoreV1().Pods("").List(ctx, all)
	if err != nil {
		return err
	}
	policies, err := e.api.NetworkingV1().NetworkPolicies("").List(ctx, all)
	if err != nil {
		return err
	}
	spaces, err := e.api.CoreV1().Namespaces().List(ctx, all)
	if err != nil {
		return err
	}
	r := rules{pods: pods.Items, spaces: spaces.Items, chains: map[string][]string{}}
	r.main = append(r.main, "-m conntrack --ctstate ESTABLISHED,RELATED -j RETURN")
	for _, p := range pods.Items {
		r.addPod(p, policies.Items)
	}
	text := r.text()
	if text == e.rules {
		return nil
	}
	e.rules = text
	return run(text, "iptables-restore", "-w", "--noflush")
}

// rules are those of one moment.
type rules struct {
	pods   []corev1.Pod
	spaces []corev1.Namespace
	main   []string
	chains map[string][]string
}

func (r *rules) text() string {
	var b strings.Builder
	b.WriteString("*filter\n:POLICIES - [0:0]\n")
	names := []string{}
	for name := range r.chains {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, ":%s - [0:0]\n", name)
	}
	for _, rule := range r.main {
		fmt.Fprintf(&b, "-A POLICIES %s\n", rule)
	}
	for _, name := range names {
		for _, rule := range r.chains[name] {
			fmt.Fprintf(&b, "-A %s %s\n", name, rule)
		}
	}
	b.WriteString("COMMIT\n")
	return b.String()
}

// addPod gives a pod that policies select a chain for each direction, which ends with a refusal.
func (r *rules) addPod(p corev1.Pod, policies []networkingv1.NetworkPolicy) {
	if p.Status.PodIP == "" || p.Spec.HostNetwork {
		return
	}
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(p.UID))
	for _, direction := range []networkingv1.PolicyType{networkingv1.PolicyTypeIngress,
		networkingv1.PolicyTypeEgress} {
		chain, selected := fmt.Sprintf("%.1s-%08x", direction, sum.Sum32()), false
		far, near := "-s", "-d"
		if direction == networkingv1.PolicyTypeEgress {
			far, near = "-d", "-s"
		}
		var allowed []string
		for _, policy := range policies {
			if policy.Namespace != p.Namespace ||
				!slices.Contains(policy.Spec.PolicyTypes, direction) ||
				!matches(&policy.Spec.PodSelector, p.Labels) {
				continue
			}
			selected = true
			if direction == networkingv1.PolicyTypeIngress {
				for _, rule := range policy.Spec.Ingress {
					allowed = append(allowed, r.allow(p.Namespace, far, rule.From, rule.Ports)...)
				}
				continue
			}
			for _, rule := range policy.Spec.Egress {
				allowed = append(allowed, r.allow(p.Namespace, far, rule.To, rule.Ports)...)
			}
		}
		if selected {
			r.main = append(r.main, fmt.Sprintf("%s %s -j %s", near, p.Status.PodIP, chain))
			r.chains[chain] = append(allowed, "-j DROP")
		}
	}
}

// allow returns the rules that let the peers through.
func (r *rules) allow(
	namespace, far string, peers []networkingv1.NetworkPolicyPeer,
	ports []networkingv1.NetworkPolicyPort,
) (all []string) {
	matchers := []string{""}
	if len(ports) > 0 {
		matchers = nil
		for _, p := range ports {
			matchers = append(matchers, fmt.Sprintf(" -p %s --dport %d",
				strings.ToLower(string(*p.Protocol)), p.Port.IntVal))
		}
	}
	for _, peer := range peers {
		if b := peer.IPBlock; b != nil {
			if strings.Contains(b.CIDR, ":") {
				continue
			}
			for _, except := range b.Except {
				all = append(all, far+" "+except+" -j DROP")
			}
			all = append(all, far+" "+b.CIDR+" -j RETURN")
			continue
		}
		for _, p := range r.pods {
			if p.Status.PodIP == "" || !r.isPeer(namespace, peer, p) {
				continue
			}
			for _, m := range matchers {
				all = append(all, far+" "+p.Status.PodIP+m+" -j RETURN")
			}
		}
	}
	return all
}

func (r *rules) isPeer(
	namespace string, peer networkingv1.NetworkPolicyPeer, p corev1.Pod,
) bool {
	if peer.PodSelector != nil && !matches(peer.PodSelector, p.Labels) {
		return false
	}
	if peer.NamespaceSelector == nil {
		return p.Namespace == namespace
	}
	return slices.ContainsFunc(r.spaces, func(n corev1.Namespace) bool {
		return n.Name == p.Namespace && matches(peer.NamespaceSelector, n.Labels)
	})
}

func matches(selector *metav1.LabelSelector, of map[string]string) bool {
	s, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && s.Matches(labels.Set(of))
}
