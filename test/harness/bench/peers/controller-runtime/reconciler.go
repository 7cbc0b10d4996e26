package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Reconciler brings the cluster to what a record says. Reads come from the cache.
type Reconciler struct {
	client.Client
	rendering *rendering
}

func (r *Reconciler) setUp(mgr ctrl.Manager, workers int) error {
	asked := predicate.Or(
		predicate.GenerationChangedPredicate{},
		predicate.AnnotationChangedPredicate{},
		predicate.LabelChangedPredicate{},
	)
	// These have no owner reference, or another's.
	byLabel := handler.EnqueueRequestsFromMapFunc(recordOf)
	return ctrl.NewControllerManagedBy(mgr).
		Named("appdeployments").
		For(&AppDeployment{}, builder.WithPredicates(asked)).
		Owns(&AppRevision{}).
		Owns(&appsv1.Deployment{}).
		Owns(&appsv1.StatefulSet{}).
		Owns(&corev1.Service{}).
		Owns(&networkingv1.NetworkPolicy{}).
		Owns(&autoscalingv2.HorizontalPodAutoscaler{}).
		Owns(&policyv1.PodDisruptionBudget{}).
		Watches(&corev1.PersistentVolumeClaim{}, byLabel).
		Watches(&corev1.Secret{}, byLabel).
		Watches(&corev1.Pod{}, byLabel).
		Watches(&TracingProject{}, byLabel).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
}

func recordOf(_ context.Context, object client.Object) []reconcile.Request {
	name, ok := object.GetLabels()[deploymentLabel]
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: name}}}
}

func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	record := &AppDeployment{}
	if err := r.Get(ctx, request.NamespacedName, record); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !record.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, r.finalize(ctx, record)
	}
	if err := r.addFinalizer(ctx, record); err != nil {
		return reconcile.Result{}, err
	}
	filling, err := r.fillingFor(ctx, record)
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := r.bring(ctx, record, filling); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, r.report(ctx, record, filling)
}

func (r *Reconciler) addFinalizer(ctx context.Context, record *AppDeployment) error {
	before := record.DeepCopyObject().(*AppDeployment)
	if !controllerutil.AddFinalizer(record, finalizer) {
		return nil
	}
	return r.Patch(ctx, record, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), r.owner())
}

// finalize removes what has no owner reference; the garbage collector takes the rest.
func (r *Reconciler) finalize(ctx context.Context, record *AppDeployment) error {
	if !controllerutil.ContainsFinalizer(record, finalizer) {
		return nil
	}
	name := types.NamespacedName{Namespace: record.Namespace, Name: record.Name}
	for _, t := range append(r.rendering.Secrets, r.rendering.Children...) {
		object, err := into(r.Scheme(), t, filling{"name": name.Name, "namespace": name.Namespace}.fill(t.text))
		if err != nil {
			return err
		}
		if len(object.GetOwnerReferences()) > 0 {
			continue
		}
		if err := r.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			if client.IgnoreNotFound(err) != nil {
				return err
			}
			continue
		}
		if object.GetLabels()[deploymentUIDLabel] != string(record.UID) {
			continue
		}
		uid := object.GetUID()
		if err := client.IgnoreNotFound(r.Delete(ctx, object, client.Preconditions{UID: &uid})); err != nil {
			return err
		}
	}
	before := record.DeepCopyObject().(*AppDeployment)
	controllerutil.RemoveFinalizer(record, finalizer)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return client.IgnoreNotFound(r.Patch(ctx, record, patch, r.owner()))
}

func (r *Reconciler) owner() client.FieldOwner {
	return client.FieldOwner(r.rendering.FieldManager)
}

func (r *Reconciler) fillingFor(ctx context.Context, record *AppDeployment) (filling, error) {
	tenant := &corev1.Namespace{}
	if err := r.Get(ctx, types.NamespacedName{Name: record.Namespace}, tenant); err != nil {
		return nil, err
	}
	id := revisionID(record)
	return filling{
		"name":          record.Name,
		"namespace":     record.Namespace,
		"uid":           string(record.UID),
		"image":         record.Spec.SourceRevisionConfig.ImageURI,
		"tenantId":      string(tenant.UID),
		"revisionId":    id,
		"revisionShort": id[:8],
		"now":           time.Now().UTC().Format(time.RFC3339),
	}, nil
}

func revisionID(record *AppDeployment) string {
	name := fmt.Sprintf("g%d", record.Generation)
	if serial := record.Spec.RevisionSerial; serial != nil {
		name = fmt.Sprintf("s%d", *serial)
	}
	return uuid.NewSHA1(uuid.MustParse(string(record.UID)), []byte(name)).String()
}

// bring makes what is missing and applies what differs: what is made once, then volumes and passwords, then all the rest
// at once.
func (r *Reconciler) bring(ctx context.Context, record *AppDeployment, filling filling) error {
	if err := r.ensure(ctx, record, r.rendering.TracingProject, filling); err != nil {
		return err
	}
	if err := r.ensure(ctx, record, r.rendering.Revision, filling); err != nil {
		return err
	}
	data, dataCtx := errgroup.WithContext(ctx)
	rest := make([]template, 0, len(r.rendering.Children))
	for _, t := range r.rendering.Secrets {
		data.Go(func() error { return r.ensure(dataCtx, record, t, filling) })
	}
	for _, t := range r.rendering.Children {
		if t.gvk.Kind != "PersistentVolumeClaim" {
			rest = append(rest, t)
			continue
		}
		data.Go(func() error { return r.apply(dataCtx, record, t, filling) })
	}
	if err := data.Wait(); err != nil {
		return err
	}
	all, allCtx := errgroup.WithContext(ctx)
	for _, t := range rest {
		all.Go(func() error { return r.apply(allCtx, record, t, filling) })
	}
	return all.Wait()
}

// ensure creates what is never changed afterwards.
func (r *Reconciler) ensure(ctx context.Context, record *AppDeployment, t template, filling filling) error {
	there, err := r.lookUp(ctx, record, t, filling)
	if err != nil || there != nil {
		return err
	}
	password, err := randomPassword()
	if err != nil {
		return err
	}
	object, err := into(r.Scheme(), t, filling.fill(t.text, "{{password}}", password))
	if err != nil {
		return err
	}
	if revision, ok := object.(*AppRevision); ok {
		revision.Spec.DeploymentGeneration = record.Generation
		revision.Spec.RevisionSerial = record.Spec.RevisionSerial
	}
	return r.Create(ctx, object, r.owner())
}

func randomPassword() (string, error) {
	bytes := make([]byte, 24)
	_, err := rand.Read(bytes)
	return base64.RawURLEncoding.EncodeToString(bytes), err
}

// apply sends the object if our part of it isn't there already.
func (r *Reconciler) apply(ctx context.Context, record *AppDeployment, t template, filling filling) error {
	actual, err := r.lookUp(ctx, record, t, filling)
	if err != nil {
		return err
	}
	text := filling.stamped(t)
	if actual != nil {
		if done, err := isApplied(text, actual); done || err != nil {
			return err
		}
	}
	wanted, err := into(r.Scheme(), t, text)
	if err != nil {
		return err
	}
	return r.Patch(ctx, wanted, client.RawPatch(types.ApplyPatchType, []byte(text)), client.ForceOwnership, r.owner())
}

// lookUp is nil where nothing is there, and an error where it is another's.
func (r *Reconciler) lookUp(
	ctx context.Context, record *AppDeployment, t template, filling filling,
) (client.Object, error) {
	made, err := r.Scheme().New(t.gvk)
	if err != nil {
		return nil, err
	}
	object := made.(client.Object)
	key := types.NamespacedName{Namespace: record.Namespace, Name: filling.fill(t.name)}
	if err := r.Get(ctx, key, object); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	// A tracing project is reused, whoever made it.
	if uid := object.GetLabels()[deploymentUIDLabel]; uid != string(record.UID) && t.gvk.Kind != "TracingProject" {
		return nil, reconcile.TerminalError(fmt.Errorf("%s %s is there already and is not ours", t.gvk.Kind, key))
	}
	return object, nil
}

// isApplied tells whether nothing of the object, as its text says, is missing or other in actual. Fields that it leaves
// out are others'.
func isApplied(text string, actual client.Object) (bool, error) {
	var wanted map[string]any
	if err := utiljson.Unmarshal([]byte(text), &wanted); err != nil {
		return false, err
	}
	there, err := runtime.DefaultUnstructuredConverter.ToUnstructured(actual)
	if err != nil {
		return false, err
	}
	// A typed object out of the cache doesn't say what it is.
	delete(wanted, "apiVersion")
	delete(wanted, "kind")
	return !differs(wanted, there), nil
}

func differs(wanted, actual any) bool {
	switch wanted := wanted.(type) {
	case map[string]any:
		there, _ := actual.(map[string]any)
		for key, value := range wanted {
			if differs(value, there[key]) {
				return true
			}
		}
		return false
	case []any:
		there, _ := actual.([]any)
		if len(wanted) != len(there) {
			return true
		}
		for i, value := range wanted {
			if differs(value, there[i]) {
				return true
			}
		}
		return false
	}
	// Go leaves zero values out.
	isZero := wanted == nil || reflect.ValueOf(wanted).IsZero()
	return wanted != actual && !(isZero && actual == nil)
}

// report writes the statuses that say something new.
func (r *Reconciler) report(ctx context.Context, record *AppDeployment, filling filling) error {
	if err := r.reportRevision(ctx, record, filling); err != nil {
		return err
	}
	if err := r.reportProject(ctx, record, filling); err != nil {
		return err
	}
	t := r.rendering.status("AppDeployment")
	wanted := &AppDeployment{}
	if err := json.Unmarshal([]byte(filling.fill(t.text)), wanted); err != nil {
		return err
	}
	status := wanted.Status
	status.ObservedGeneration = record.Generation
	status.Conditions = merged(record.Status.Conditions, status.Conditions, record.Generation)
	if record.Status.State == status.State {
		status.StateChangedAt = record.Status.StateChangedAt
	}
	if equality.Semantic.DeepEqual(record.Status, status) {
		return nil
	}
	return r.applyStatus(ctx, record, t, status)
}

func (r *Reconciler) reportRevision(ctx context.Context, record *AppDeployment, filling filling) error {
	t := r.rendering.status("AppRevision")
	revision := &AppRevision{}
	key := types.NamespacedName{Namespace: record.Namespace, Name: filling.fill(t.name)}
	if err := r.Get(ctx, key, revision); err != nil {
		return err
	}
	wanted := &AppRevision{}
	if err := json.Unmarshal([]byte(filling.fill(t.text)), wanted); err != nil {
		return err
	}
	status := wanted.Status
	status.ObservedGeneration = revision.Generation
	if revision.Status.State == status.State {
		status.StateChangedAt = revision.Status.StateChangedAt
	}
	if equality.Semantic.DeepEqual(revision.Status, status) {
		return nil
	}
	return r.applyStatus(ctx, revision, t, status)
}

func (r *Reconciler) reportProject(ctx context.Context, record *AppDeployment, filling filling) error {
	t := r.rendering.status("TracingProject")
	project := &TracingProject{}
	if err := r.Get(ctx, client.ObjectKeyFromObject(record), project); err != nil {
		return err
	}
	wanted := &TracingProject{}
	if err := json.Unmarshal([]byte(filling.fill(t.text)), wanted); err != nil {
		return err
	}
	status := wanted.Status
	status.ObservedGeneration = project.Generation
	status.Conditions = merged(project.Status.Conditions, status.Conditions, project.Generation)
	if equality.Semantic.DeepEqual(project.Status, status) {
		return nil
	}
	return r.applyStatus(ctx, project, t, status)
}

// merged keeps the times of conditions that say what they said before.
func merged(before, wanted []metav1.Condition, generation int64) []metav1.Condition {
	conditions := make([]metav1.Condition, 0, len(wanted))
	for _, condition := range wanted {
		condition.ObservedGeneration = generation
		if old := meta.FindStatusCondition(before, condition.Type); old != nil && old.Status == condition.Status {
			condition.LastTransitionTime = old.LastTransitionTime
		}
		conditions = append(conditions, condition)
	}
	return conditions
}

func (r *Reconciler) applyStatus(ctx context.Context, object client.Object, t template, status any) error {
	patch, err := json.Marshal(map[string]any{
		"apiVersion": t.gvk.GroupVersion().String(),
		"kind":       t.gvk.Kind,
		"metadata": map[string]any{
			"name":      object.GetName(),
			"namespace": object.GetNamespace(),
			"uid":       object.GetUID(),
		},
		"status": status,
	})
	if err != nil {
		return err
	}
	return r.Status().Patch(ctx, object, client.RawPatch(types.ApplyPatchType, patch), client.ForceOwnership, r.owner())
}
