// An operator for AppDeployments as a good author would write it with controller-runtime: typed, with the default cache,
// server-side apply of what differs, and a finalizer. The children are those of the file --children, which the benchmark
// renders with Davit's own makers, so that both make the same objects.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// Everything that is watched, before any worker starts.
var watched = []client.Object{
	&AppDeployment{}, &AppRevision{}, &TracingProject{},
	&appsv1.Deployment{}, &appsv1.StatefulSet{},
	&corev1.Service{}, &corev1.PersistentVolumeClaim{}, &corev1.Secret{}, &corev1.Pod{}, &corev1.Namespace{},
	&networkingv1.NetworkPolicy{},
	&autoscalingv2.HorizontalPodAutoscaler{},
	&policyv1.PodDisruptionBudget{},
}

func main() {
	// --kubeconfig is a flag of controller-runtime's own.
	children := flag.String("children", "", "file with the children of a record")
	workers := flag.Int("workers", 8, "records reconciled at once")
	flag.Parse()
	ctrl.SetLogger(klog.Background())
	if err := run(ctrl.SetupSignalHandler(), *children, *workers); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, children string, workers int) error {
	rendering, err := loadRendering(children)
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(addToScheme(scheme))

	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	config.QPS = -1
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme,
		Metrics: metricsserver.Options{BindAddress: "0"},
		// A pass that starts from what the last one wrote makes no second apply of it.
		Client: client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: ptr.To(true)}},
	})
	if err != nil {
		return err
	}
	for _, object := range watched {
		if _, err := mgr.GetCache().GetInformer(ctx, object); err != nil {
			return err
		}
	}
	reconciler := &Reconciler{Client: mgr.GetClient(), rendering: rendering}
	if err := reconciler.setUp(mgr, workers); err != nil {
		return err
	}
	ready := manager.RunnableFunc(func(ctx context.Context) error {
		if mgr.GetCache().WaitForCacheSync(ctx) {
			fmt.Println("READY")
		}
		return nil
	})
	if err := mgr.Add(ready); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
