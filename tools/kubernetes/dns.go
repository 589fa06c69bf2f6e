package main

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/net/dns/dnsmessage"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// servicesDomain ends the names of Services: NAME.NAMESPACE.svc.cluster.local.
const servicesDomain = ".svc.cluster.local."

// nameServer answers for the names of Services, as CoreDNS does in most clusters. It asks the API
// server at each question, so that an answer is never older than that. It knows no other names.
type nameServer struct{ api kubernetes.Interface }

func newDNSCommand() *cobra.Command {
	var kubeconfig, listen string
	c := &cobra.Command{Use: "dns", SilenceUsage: true,
		RunE: func(c *cobra.Command, _ []string) error {
			api, err := connect(kubeconfig)
			if err != nil {
				return err
			}
			return nameServer{api}.serve(c.Context(), listen)
		}}
	c.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig file")
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:53", "UDP address")
	return c
}

func connect(kubeconfig string) (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // no limit
	return kubernetes.NewForConfig(config)
}

func (s nameServer) serve(ctx context.Context, listen string) error {
	conn, err := net.ListenPacket("udp", listen)
	if err != nil {
		return err
	}
	for {
		query := make([]byte, 1232)
		n, from, err := conn.ReadFrom(query)
		if err != nil {
			return err
		}
		go func() {
			if answer, err := s.answer(ctx, query[:n]); err == nil {
				_, _ = conn.WriteTo(answer, from)
			}
		}()
	}
}

// answer returns an error for what is no question.
func (s nameServer) answer(ctx context.Context, query []byte) ([]byte, error) {
	var p dnsmessage.Parser
	header, err := p.Start(query)
	if err != nil {
		return nil, err
	}
	q, err := p.Question()
	if err != nil || header.Response {
		return nil, errors.Join(err, errors.New("it is no question"))
	}
	addresses, code := s.findAddresses(ctx, strings.ToLower(q.Name.String()))
	m := dnsmessage.Message{Questions: []dnsmessage.Question{q}, Header: dnsmessage.Header{
		ID: header.ID, Response: true, Authoritative: true, RCode: code,
		RecursionDesired: header.RecursionDesired, RecursionAvailable: true}}
	for _, a := range addresses {
		if q.Type == dnsmessage.TypeA && a.Is4() {
			m.Answers = append(m.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class, TTL: 1},
				Body:   &dnsmessage.AResource{A: a.As4()}})
		}
	}
	return m.Pack()
}

// findAddresses returns a Service's own address or, if it is headless, those of its pods.
func (s nameServer) findAddresses(
	ctx context.Context, name string,
) ([]netip.Addr, dnsmessage.RCode) {
	name, ours := strings.CutSuffix(name, servicesDomain)
	service, namespace, ok := strings.Cut(name, ".")
	if !ours || !ok || strings.Contains(namespace, ".") {
		return nil, dnsmessage.RCodeNameError
	}
	found, err := s.api.CoreV1().Services(namespace).Get(ctx, service, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, dnsmessage.RCodeNameError
	}
	if err != nil {
		return nil, dnsmessage.RCodeServerFailure
	}
	if a, err := netip.ParseAddr(found.Spec.ClusterIP); err == nil {
		return []netip.Addr{a}, dnsmessage.RCodeSuccess
	}
	slices, err := s.api.DiscoveryV1().EndpointSlices(namespace).List(ctx,
		metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service})
	if err != nil {
		return nil, dnsmessage.RCodeServerFailure
	}
	return readyAddresses(slices.Items), dnsmessage.RCodeSuccess
}

func readyAddresses(slices []discoveryv1.EndpointSlice) (all []netip.Addr) {
	for _, slice := range slices {
		for _, e := range slice.Endpoints {
			if e.Conditions.Ready != nil && !*e.Conditions.Ready {
				continue
			}
			for _, text := range e.Addresses {
				if a, err := netip.ParseAddr(text); err == nil {
					all = append(all, a)
				}
			}
		}
	}
	return all
}
