// RUN: tierup-opt %s --tierup-specialize-types --split-input-file --verify-diagnostics | FileCheck %s --check-prefixes=CHECK,ARGS
// RUN: tierup-opt %s --tierup-specialize-types=mid-program=true --split-input-file --verify-diagnostics | FileCheck %s --check-prefixes=CHECK,MID
// RUN: tierup-opt %s --tierup-specialize-types --tierup-infer-types --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=TYPED

// CHECK-LABEL: func.func @arguments
// CHECK-SAME: %[[X:[a-z0-9]+]]: !torch.vtensor<[?,4],f32>, %{{.*}}: !torch.vtensor<[?,?],unk>, %{{.*}}: !torch.int
// TYPED-LABEL: func.func @arguments
// TYPED-SAME: -> !torch.vtensor<[?,4],f32>
func.func @arguments(%x: !torch.vtensor, %y: !torch.vtensor, %n: !torch.int) -> !torch.vtensor {
  // CHECK: %[[S0:.*]] = torch.symbolic_int "s0"
  // CHECK: torch.bind_symbolic_shape %[[X]], [%[[S0]]], affine_map<()[s0] -> (s0, 4)> : !torch.vtensor<[?,4],f32>
  // CHECK: %[[ONE:.*]] = torch.constant.int 3
  // CHECK-NOT: tierup.
  // CHECK: torch.aten.mul.Scalar %[[X]], %[[ONE]]
  %0 = "tierup.profile"(%x) {slot = 0 : i64, profiled = #tierup.profiled<f32[s0,4] defined>} : (!torch.vtensor) -> !torch.vtensor
  %1 = "tierup.profile"(%y) {slot = 1 : i64, profiled = #tierup.profiled<?[?,?] defined>} : (!torch.vtensor) -> !torch.vtensor
  %2 = "tierup.profile"(%n) {slot = 2 : i64, profiled = #tierup.profiled<int=3>} : (!torch.int) -> !torch.int
  %3 = torch.aten.mul.Scalar %0, %2 : !torch.vtensor, !torch.int -> !torch.vtensor
  "tierup.count_run"() : () -> ()
  return %3 : !torch.vtensor
}

// -----
// A value watched twice has the facts that both agree on; a slot that recorded nothing says nothing.
// CHECK-LABEL: func.func @watched_twice
// CHECK-SAME: !torch.vtensor<[2,?],f32>
func.func @watched_twice(%x: !torch.vtensor, %c: !torch.bool) -> !torch.vtensor {
  %0 = "tierup.profile"(%x) {slot = 0 : i64, profiled = #tierup.profiled<f32[2,3] defined>} : (!torch.vtensor) -> !torch.vtensor
  %1 = torch.prim.If %c -> (!torch.vtensor) {
    %2 = "tierup.profile"(%0) {slot = 1 : i64, profiled = #tierup.profiled<f32[2,5] defined>} : (!torch.vtensor) -> !torch.vtensor
    torch.prim.If.yield %2 : !torch.vtensor
  } else {
    %2 = "tierup.profile"(%0) {slot = 2 : i64} : (!torch.vtensor) -> !torch.vtensor
    torch.prim.If.yield %2 : !torch.vtensor
  }
  // CHECK-NOT: tierup.
  "tierup.count_run"() : () -> ()
  return %1 : !torch.vtensor
}

// -----
// CHECK-LABEL: func.func @a_number_of_one_kind
// CHECK-SAME: %[[N:[a-z0-9]+]]: !torch.float
func.func @a_number_of_one_kind(%x: !torch.vtensor, %n: !torch.number) -> !torch.vtensor {
  // CHECK: torch.derefine %[[N]] : !torch.float to !torch.number
  %0 = "tierup.profile"(%n) {slot = 0 : i64, profiled = #tierup.profiled<float>} : (!torch.number) -> !torch.number
  %1 = torch.aten.mul.Scalar %x, %0 : !torch.vtensor, !torch.number -> !torch.vtensor
  "tierup.count_run"() : () -> ()
  return %1 : !torch.vtensor
}

// -----
// What was seen inside the program needs a guard.
// CHECK-LABEL: func.func @inside
func.func @inside(%x: !torch.vtensor) -> !torch.vtensor {
  // CHECK: %[[E:.*]] = torch.aten.exp
  %0 = torch.aten.exp %x : !torch.vtensor -> !torch.vtensor
  // ARGS-NEXT: torch.aten.tanh %[[E]] : !torch.vtensor
  // MID-NEXT: %[[T:.*]] = torch.tensor_static_info_cast %[[E]] : !torch.vtensor to !torch.vtensor<[4],f64>
  // MID-NEXT: torch.aten.tanh %[[T]] : !torch.vtensor<[4],f64>
  %1 = "tierup.profile"(%0) {slot = 0 : i64, profiled = #tierup.profiled<f64[4] defined>} : (!torch.vtensor) -> !torch.vtensor
  %2 = torch.aten.tanh %1 : !torch.vtensor -> !torch.vtensor
  "tierup.count_run"() : () -> ()
  return %2 : !torch.vtensor
}

// -----
// No guard lets None through.
// CHECK-LABEL: func.func @undefined
// CHECK-SAME: (%{{.*}}: !torch.vtensor)
func.func @undefined(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = "tierup.profile"(%x) {slot = 0 : i64, profiled = #tierup.profiled<?[*] undefined>} : (!torch.vtensor) -> !torch.vtensor
  "tierup.count_run"() : () -> ()
  return %0 : !torch.vtensor
}

// -----
// expected-error@below {{was profiled on other values than its types allow}}
func.func @contradiction(%x: !torch.vtensor<[3],f32>) -> !torch.vtensor<[3],f32> {
  %0 = "tierup.profile"(%x) {slot = 0 : i64, profiled = #tierup.profiled<f32[4] defined>} : (!torch.vtensor<[3],f32>) -> !torch.vtensor<[3],f32>
  "tierup.count_run"() : () -> ()
  return %0 : !torch.vtensor<[3],f32>
}
