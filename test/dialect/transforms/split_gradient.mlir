// RUN: tierup-opt %s --tierup-split-gradient="entry=ancestor" | FileCheck %s
// RUN: tierup-opt %s --tierup-split-gradient="entry=wanted wrt=0" | FileCheck %s --check-prefix=WANTED
// RUN: tierup-opt %s --tierup-split-gradient="entry=two results=1" | FileCheck %s --check-prefix=TWO
// RUN: tierup-opt %s --tierup-split-gradient="entry=open wrt=0" | FileCheck %s --check-prefix=OPEN
// RUN: tierup-opt %s --tierup-split-gradient="entry=open_sum" | FileCheck %s --check-prefix=SUM
// RUN: tierup-opt %s --tierup-split-gradient="entry=unrelated wrt=0" | FileCheck %s --check-prefix=UNRELATED
!t = !torch.vtensor<[4],f32>

// a*b*a+b: captured are a, b and a*b, each once, though a*b is read twice; nothing of the sum.
// CHECK: func.func @ancestor(%[[A:.*]]: !torch.vtensor<[4],f32>, %[[B:.*]]: !torch.vtensor<[4],f32>) -> (!torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>)
// CHECK-NEXT: %[[INT1:.*]] = torch.constant.int 1
// CHECK-NEXT: %[[AB:.*]] = torch.aten.mul.Tensor %[[A]], %[[B]]
// CHECK-NEXT: %[[ABA:.*]] = torch.aten.mul.Tensor %[[AB]], %[[A]]
// CHECK-NEXT: %[[R:.*]] = torch.aten.add.Tensor %[[ABA]], %[[B]], %[[INT1]]
// CHECK-NEXT: return %[[R]], %[[AB]]
// CHECK: func.func @ancestor_backward(%[[A:.*]]: !torch.vtensor<[4],f32> {{.*}}, %[[B:.*]]: !torch.vtensor<[4],f32> {{.*}}, %[[AB:.*]]: !torch.vtensor<[4],f32> {tierup.name = "saved0"}, %[[G:.*]]: !torch.vtensor<[4],f32> {tierup.name = "d_result0"}) -> (!torch.vtensor, !torch.vtensor) attributes {tierup.captures = ["argument:0", "argument:1", "saved:0"]
// CHECK-DAG: torch.aten.mul.Tensor %[[G]], %[[A]]
// CHECK-DAG: torch.aten.mul.Tensor %[[G]], %[[AB]]
func.func @ancestor(%a: !t, %b: !t) -> !t {
  %int1 = torch.constant.int 1
  %0 = torch.aten.mul.Tensor %a, %b : !t, !t -> !t
  %1 = torch.aten.mul.Tensor %0, %a : !t, !t -> !t
  %2 = torch.aten.add.Tensor %1, %b, %int1 : !t, !t, !torch.int -> !t
  return %2 : !t
}

// One gradient is wanted: the other argument is captured, this one is not. A result is captured as it is, not given twice.
// WANTED: func.func @wanted(%{{.*}}) -> !torch.vtensor<[4],f32>
// WANTED: return %{{[^,]*}} :
// WANTED: func.func @wanted_backward(%{{.*}}: !torch.vtensor<[4],f32> {tierup.name = "y"}, %{{.*}}: !torch.vtensor<[4],f32> {tierup.name = "result0"}, %{{.*}}: !torch.vtensor<[4],f32> {tierup.name = "d_result0"}) -> !torch.vtensor attributes {tierup.captures = ["argument:1", "result:0"]
func.func @wanted(%x: !t {tierup.name = "x"}, %y: !t {tierup.name = "y"}) -> !t {
  %0 = torch.aten.mul.Tensor %x, %y : !t, !t -> !t
  %1 = torch.aten.tanh %0 : !t -> !t
  return %1 : !t
}

// From one of two results: what leads to the other alone is neither captured nor computed.
// TWO: func.func @two(%{{.*}}) -> (!torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>)
// TWO: func.func @two_backward(%[[X:.*]]: !torch.vtensor<[4],f32> {tierup.name = "argument0"}, %[[G:.*]]: !torch.vtensor<[4],f32> {tierup.name = "d_result1"})
// TWO-NOT: exp
// TWO: torch.aten.cos %[[X]]
func.func @two(%x: !t) -> (!t, !t) {
  %0 = torch.aten.exp %x : !t -> !t
  %1 = torch.aten.sin %x : !t -> !t
  return %0, %1 : !t, !t
}

// A size that may be 1 may be broadcast, though the two are called equal: the gradient is summed to it.
// OPEN: func.func @open_backward(
// OPEN: torch.operator "aten._grad_sum_to_size"
func.func @open(%x: !torch.vtensor<[?],f32>, %y: !torch.vtensor<[?],f32>) -> !torch.vtensor<[?],f32> {
  %0 = torch.aten.mul.Tensor %x, %y : !torch.vtensor<[?],f32>, !torch.vtensor<[?],f32> -> !torch.vtensor<[?],f32>
  return %0 : !torch.vtensor<[?],f32>
}

// Nor are such sizes asked of another tensor that is said to have them.
// SUM: func.func @open_sum(%[[X:.*]]: !torch.vtensor<[?],f32>, %[[Y:.*]]: !torch.vtensor<[?],f32>)
// SUM: %[[S:.*]] = torch.aten.add.Tensor
// SUM: torch.aten.size.int %[[S]]
func.func @open_sum(%x: !torch.vtensor<[?],f32>, %y: !torch.vtensor<[?],f32>) -> !torch.vtensor<[],f32> {
  %int1 = torch.constant.int 1
  %none = torch.constant.none
  %0 = torch.aten.add.Tensor %x, %y, %int1 : !torch.vtensor<[?],f32>, !torch.vtensor<[?],f32>, !torch.int -> !torch.vtensor<[?],f32>
  %1 = torch.aten.sum %0, %none : !torch.vtensor<[?],f32>, !torch.none -> !torch.vtensor<[],f32>
  return %1 : !torch.vtensor<[],f32>
}

// No result depends on what is wanted: nothing is captured, and there is no gradient.
// UNRELATED: func.func @unrelated(%{{.*}}) -> (!torch.vtensor<[4],f32>, !torch.vtensor<[4],si64>)
// UNRELATED: func.func @unrelated_backward() attributes {tierup.captures = []
// UNRELATED-NEXT: return
func.func @unrelated(%x: !t, %y: !t, %i: !torch.vtensor<[4],si64>) -> (!t, !torch.vtensor<[4],si64>) {
  %0 = torch.aten.tanh %y : !t -> !t
  return %0, %i : !t, !torch.vtensor<[4],si64>
}
