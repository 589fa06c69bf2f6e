package kubernetes

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// The rate of requests: client-go's own limit of five a second is for controllers.
const (
	requestsPerSecond = 50
	requestsAtOnce    = 100
)

// cluster speaks to one API server.
type cluster struct {
	config     *rest.Config
	core       rest.Interface
	parameters runtime.ParameterCodec

	namespaces  apiResource[corev1.Namespace, *corev1.Namespace]
	machines    apiResource[corev1.Node, *corev1.Node]
	pods        apiResource[corev1.Pod, *corev1.Pod]
	services    apiResource[corev1.Service, *corev1.Service]
	deployments apiResource[appsv1.Deployment, *appsv1.Deployment]
	policies    apiResource[networkingv1.NetworkPolicy, *networkingv1.NetworkPolicy]
	reviews     apiResource[authorizationv1.SelfSubjectAccessReview,
		*authorizationv1.SelfSubjectAccessReview]
}

// loadClusterConfig reads a kubeconfig, or, without one, what Kubernetes gives to a pod.
func loadClusterConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" {
		c, err := rest.InClusterConfig()
		if errors.Is(err, rest.ErrNotInCluster) {
			return nil, errors.New("the agent does not run in a pod: set " +
				"agent.kubernetes.kubeconfig to a kubeconfig file of the cluster")
		}
		if err != nil {
			return nil, fmt.Errorf("the pod's own credentials cannot be read: %w; let its "+
				"service account be mounted (automountServiceAccountToken), or set "+
				"agent.kubernetes.kubeconfig", err)
		}
		return c, nil
	}
	c, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("setting agent.kubernetes.kubeconfig: %w; name a file that works "+
			"with kubectl --kubeconfig", err)
	}
	return c, nil
}

func newCluster(config *rest.Config) (*cluster, error) {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme,
		networkingv1.AddToScheme, authorizationv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = requestsPerSecond, requestsAtOnce
	config.UserAgent = "nullops-agent"
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	c := &cluster{config: config, parameters: runtime.NewParameterCodec(scheme)}
	clients := map[schema.GroupVersion]rest.Interface{}
	for _, gv := range []schema.GroupVersion{corev1.SchemeGroupVersion, appsv1.SchemeGroupVersion,
		networkingv1.SchemeGroupVersion, authorizationv1.SchemeGroupVersion} {
		own := rest.CopyConfig(config)
		own.GroupVersion, own.APIPath = &gv, "/apis"
		if gv.Group == "" {
			own.APIPath = "/api"
		}
		client, err := rest.RESTClientFor(own)
		if err != nil {
			return nil, fmt.Errorf("kubernetes client: %w", err)
		}
		clients[gv] = client
	}
	c.core = clients[corev1.SchemeGroupVersion]
	c.namespaces = apiResource[corev1.Namespace, *corev1.Namespace]{c, c.core, "namespaces"}
	c.machines = apiResource[corev1.Node, *corev1.Node]{c, c.core, "nodes"}
	c.pods = apiResource[corev1.Pod, *corev1.Pod]{c, c.core, "pods"}
	c.services = apiResource[corev1.Service, *corev1.Service]{c, c.core, "services"}
	c.deployments = apiResource[appsv1.Deployment, *appsv1.Deployment]{c,
		clients[appsv1.SchemeGroupVersion], "deployments"}
	c.policies = apiResource[networkingv1.NetworkPolicy, *networkingv1.NetworkPolicy]{c,
		clients[networkingv1.SchemeGroupVersion], "networkpolicies"}
	c.reviews = apiResource[authorizationv1.SelfSubjectAccessReview,
		*authorizationv1.SelfSubjectAccessReview]{c, clients[authorizationv1.SchemeGroupVersion],
		"selfsubjectaccessreviews"}
	return c, nil
}

// serverVersion asks for the version of the API server.
func (c *cluster) serverVersion(ctx context.Context) (v version.Info, err error) {
	err = readJSON(c.core.Get().AbsPath("/version").Do(ctx), &v)
	return v, err
}

// readJSON decodes an answer. Raw alone would lose the reason of a refusal.
func readJSON(answer rest.Result, into any) error {
	if err := answer.Error(); err != nil {
		return err
	}
	data, err := answer.Raw()
	if err != nil {
		return err
	}
	return decodeJSON(data, into)
}

// object is a pointer to an API type.
type object[T any] interface {
	*T
	runtime.Object
	metav1.Object
}

// apiResource is one kind of objects. An empty namespace means: of the cluster, or of all
// namespaces.
type apiResource[T any, P object[T]] struct {
	cluster *cluster
	client  rest.Interface
	name    string
}

func (r apiResource[T, P]) get(ctx context.Context, namespace, name string) (P, error) {
	o := P(new(T))
	err := r.client.Get().NamespaceIfScoped(namespace, namespace != "").Resource(r.name).Name(name).
		Do(ctx).Into(o)
	return o, err
}

func (r apiResource[T, P]) create(ctx context.Context, o P) (P, error) {
	namespace, made := o.GetNamespace(), P(new(T))
	err := r.client.Post().NamespaceIfScoped(namespace, namespace != "").Resource(r.name).Body(o).
		Do(ctx).Into(made)
	return made, err
}

func (r apiResource[T, P]) update(ctx context.Context, o P) (P, error) {
	namespace, made := o.GetNamespace(), P(new(T))
	err := r.client.Put().NamespaceIfScoped(namespace, namespace != "").Resource(r.name).
		Name(o.GetName()).Body(o).Do(ctx).Into(made)
	return made, err
}

// patch merges JSON into the object.
func (r apiResource[T, P]) patch(ctx context.Context, namespace, name, json string) error {
	return r.client.Patch(types.MergePatchType).NamespaceIfScoped(namespace, namespace != "").
		Resource(r.name).Name(name).Body([]byte(json)).Do(ctx).Error()
}

func (r apiResource[T, P]) remove(
	ctx context.Context, namespace, name string, o metav1.DeleteOptions,
) error {
	return r.client.Delete().NamespaceIfScoped(namespace,
		namespace != "").Resource(r.name).Name(name).
		Body(&o).Do(ctx).Error()
}

// list returns the objects with these labels.
func (r apiResource[T, P]) list(ctx context.Context, namespace, labels string) ([]T, error) {
	var l struct {
		Items []T `json:"items"`
	}
	err := readJSON(r.client.Get().NamespaceIfScoped(namespace, namespace != "").Resource(r.name).
		SetHeader("Accept", "application/json").
		VersionedParams(&metav1.ListOptions{LabelSelector: labels},
			r.cluster.parameters).Do(ctx), &l)
	return l.Items, err
}

// watch follows the objects with these labels, from now on.
func (r apiResource[T, P]) watch(ctx context.Context, labels string) (watch.Interface, error) {
	return r.client.Get().Resource(r.name).VersionedParams(
		&metav1.ListOptions{LabelSelector: labels, Watch: true}, r.cluster.parameters).Watch(ctx)
}
