// RUN: tierup-opt %s --tierup-add-gradients="entry=clamp cotangents keep-results=false" | FileCheck %s
// RUN: tierup-opt %s --tierup-add-gradients="entry=floor cotangents keep-results=false" | FileCheck %s --check-prefix=FLOOR
// RUN: tierup-opt %s --tierup-add-gradients="entry=fmax wrt=1 cotangents keep-results=false" | FileCheck %s --check-prefix=FMAX
// RUN: tierup-opt %s --tierup-add-gradients="entry=lerp wrt=0 cotangents keep-results=false" | FileCheck %s --check-prefix=LERP
// RUN: tierup-opt %s --tierup-add-gradients="entry=tan wrt=0 cotangents keep-results=false" | FileCheck %s --check-prefix=TAN
!x = !torch.vtensor<[2,3],f32>
!row = !torch.vtensor<[3],f32>

// A bound that was left out is not compared with; a value on the bound has the gradient.
// CHECK-LABEL: func.func @clamp(
// CHECK: %[[IN:.*]] = torch.aten.ge.Scalar %arg0, %
// CHECK-NOT: torch.aten.le
// CHECK: %[[G:.*]] = torch.aten.where.ScalarOther %[[IN]], %arg1, %float0
// CHECK-NEXT: return %[[G]]
func.func @clamp(%x: !x) -> !x {
  %low = torch.constant.float -1.0
  %none = torch.constant.none
  %0 = torch.aten.clamp %x, %low, %none : !x, !torch.float, !torch.none -> !x
  return %0 : !x
}

// Constant between its jumps: nothing comes back, and the argument's gradient is zeros.
// FLOOR-LABEL: func.func @floor(
// FLOOR: %[[Z:.*]] = torch.aten.zeros
// FLOOR-NEXT: return %[[Z]]
func.func @floor(%x: !x) -> !x {
  %0 = torch.aten.floor %x : !x -> !x
  return %0 : !x
}

// Only the second operand's gradient is computed; what was broadcast is summed.
// FMAX-LABEL: func.func @fmax(
// FMAX: %[[GE:.*]] = torch.aten.ge.Tensor %arg0, %arg1
// FMAX-NEXT: %[[NAN:.*]] = torch.aten.isnan %arg1
// FMAX-NEXT: %[[FIRST:.*]] = torch.aten.logical_or %[[GE]], %[[NAN]]
// FMAX: %[[G:.*]] = torch.aten.where.ScalarSelf %[[FIRST]], %float0{{.*}}, %arg2
// FMAX-NOT: torch.aten.where
// FMAX: %[[S:.*]] = torch.aten.sum.dim_IntList %[[G]],
// FMAX-NEXT: return %[[S]]
func.func @fmax(%x: !x, %y: !row) -> !x {
  %0 = torch.aten.fmax %x, %y : !x, !row -> !x
  return %0 : !x
}

// A number that only the run knows is a tensor in the gradient.
// LERP-LABEL: func.func @lerp(
// LERP: %[[W:.*]] = torch.aten.scalar_tensor %arg2
// LERP: %[[REST:.*]] = torch.aten.rsub.Scalar %[[W]], %int1
// LERP: %[[G:.*]] = torch.aten.mul.Tensor %arg3, %[[REST]]
// LERP-NEXT: return %[[G]]
func.func @lerp(%x: !x, %y: !x, %w: !torch.float) -> !x {
  %0 = torch.aten.lerp.Scalar %x, %y, %w : !x, !x, !torch.float -> !x
  return %0 : !x
}

// The derivative is a function of the result: that is kept, and not the operand.
// TAN-LABEL: func.func @tan(
// TAN: %[[Y:.*]] = torch.aten.tan %arg0
// TAN-NEXT: %[[YY:.*]] = torch.aten.mul.Tensor %[[Y]], %[[Y]]
// TAN: %[[D:.*]] = torch.aten.add.Scalar %[[YY]], %int1
// TAN-NEXT: %[[G:.*]] = torch.aten.mul.Tensor %arg1, %[[D]]
// TAN-NEXT: return %[[G]]
func.func @tan(%x: !x) -> !x {
  %0 = torch.aten.tan %x : !x -> !x
  return %0 : !x
}
