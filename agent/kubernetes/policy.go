package kubernetes

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// namespaceNameLabel is on every namespace, and the API server keeps it right.
const namespaceNameLabel = "kubernetes.io/metadata.name"

// agentPeers are where the agent's connections come from.
func (ns *namespaces) agentPeers() (all []networkingv1.NetworkPolicyPeer) {
	if ns.config.AgentNamespace != "" {
		all = append(all, networkingv1.NetworkPolicyPeer{
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{
				namespaceNameLabel: ns.config.AgentNamespace}}})
	}
	for _, from := range ns.config.Admit {
		all = append(all, networkingv1.NetworkPolicyPeer{
			IPBlock: &networkingv1.IPBlock{CIDR: from.String()}})
	}
	return all
}

// egressRules let pods reach their own namespace, names, and what is outside the cluster; not the
// metadata services of clouds, the API server, or the pods of others.
func (ns *namespaces) egressRules(
	machines []corev1.Node, servers []netip.Addr,
) []networkingv1.NetworkPolicyEgressRule {
	udp, tcp, dns := corev1.ProtocolUDP, corev1.ProtocolTCP, intstr.FromInt32(53)
	return []networkingv1.NetworkPolicyEgressRule{
		{To: []networkingv1.NetworkPolicyPeer{{PodSelector: &metav1.LabelSelector{}}}},
		{To: []networkingv1.NetworkPolicyPeer{{NamespaceSelector: &metav1.LabelSelector{
			MatchLabels: map[string]string{namespaceNameLabel: "kube-system"}}}},
			Ports: []networkingv1.NetworkPolicyPort{{Protocol: &udp, Port: &dns},
				{Protocol: &tcp, Port: &dns}}},
		{To: ns.outsidePeers(machines, servers)},
	}
}

func (ns *namespaces) outsidePeers(
	machines []corev1.Node, servers []netip.Addr,
) (all []networkingv1.NetworkPolicyPeer) {
	v4 := []netip.Prefix{netip.MustParsePrefix("169.254.0.0/16")}
	v6 := []netip.Prefix{netip.MustParsePrefix("fd00:ec2::254/128"),
		netip.MustParsePrefix("fe80::/10")}
	add := func(p netip.Prefix) {
		if p.Addr().Is4() {
			v4 = append(v4, p)
		} else {
			v6 = append(v6, p)
		}
	}
	for _, a := range slices.Concat(ns.apiAddresses(), servers) {
		add(netip.PrefixFrom(a, a.BitLen()))
	}
	for _, m := range machines {
		for _, text := range m.Spec.PodCIDRs {
			if p, err := netip.ParsePrefix(text); err == nil {
				add(p.Masked())
			}
		}
	}
	for _, family := range []struct {
		all    string
		except []netip.Prefix
	}{{"0.0.0.0/0", v4}, {"::/0", v6}} {
		block := &networkingv1.IPBlock{CIDR: family.all}
		for _, p := range family.except {
			block.Except = append(block.Except, p.String())
		}
		slices.Sort(block.Except)
		block.Except = slices.Compact(block.Except)
		all = append(all, networkingv1.NetworkPolicyPeer{IPBlock: block})
	}
	return all
}

// apiServers are where the API server really is: most network plugins see a connection after the
// address that pods are told was replaced by one of these.
func (ns *namespaces) apiServers(ctx context.Context) (all []netip.Addr, err error) {
	var found struct {
		Items []struct {
			Endpoints []struct {
				Addresses []string `json:"addresses"`
			} `json:"endpoints"`
		} `json:"items"`
	}
	err = readJSON(ns.core.Get().
		AbsPath("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices").
		Param("labelSelector", "kubernetes.io/service-name=kubernetes").Do(ctx), &found)
	if err != nil {
		return nil, fmt.Errorf("where the API server is: %w", wrapQueryErr(err))
	}
	for _, i := range found.Items {
		for _, e := range i.Endpoints {
			for _, text := range e.Addresses {
				if a, err := netip.ParseAddr(text); err == nil {
					all = append(all, a.Unmap())
				}
			}
		}
	}
	return all, nil
}

// apiAddresses are where the agent itself reaches the API server: under the address of the
// configuration, and under that which pods are told.
func (ns *namespaces) apiAddresses() (all []netip.Addr) {
	hosts := []string{os.Getenv("KUBERNETES_SERVICE_HOST")}
	if u, err := url.Parse(ns.cluster.config.Host); err == nil {
		hosts = append(hosts, u.Hostname())
	}
	for _, host := range hosts {
		found, err := net.LookupHost(host)
		if host == "" || err != nil {
			continue
		}
		for _, text := range found {
			if a, err := netip.ParseAddr(text); err == nil {
				all = append(all, a.Unmap())
			}
		}
	}
	return all
}
