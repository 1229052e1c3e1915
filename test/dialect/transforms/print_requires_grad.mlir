// RUN: tierup-opt %s --split-input-file --tierup-print-requires-grad --verify-diagnostics | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-print-requires-grad --tierup-print-requires-grad --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @ops
// expected-remark@below {{%arg0 requires a gradient}}
// expected-remark@below {{%arg1 requires no gradient}}
// expected-remark@below {{%arg2 may require a gradient}}
// expected-remark@below {{%arg3 requires no gradient}}
func.func @ops(%x: !torch.vtensor<[4],f32> {tierup.requires_grad = true}, %y: !torch.vtensor<[4],f32> {tierup.requires_grad = false},
               %z: !torch.vtensor<[4],f32>, %i: !torch.vtensor<[4],si64>) {
  %one = torch.constant.int 1
  // expected-remark@below {{requires a gradient}}
  %0 = torch.aten.add.Tensor %x, %z, %one : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[4],f32>
  // expected-remark@below {{may require a gradient}}
  %1 = torch.aten.mul.Tensor %y, %z : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  // expected-remark@below {{requires no gradient}}
  %2 = torch.aten.mul.Tensor %y, %i : !torch.vtensor<[4],f32>, !torch.vtensor<[4],si64> -> !torch.vtensor<[4],f32>
  // Comparisons, detached tensors, new ones, integers.
  // expected-remark@below {{requires no gradient}}
  %3 = torch.aten.gt.Tensor %x, %y : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor
  // expected-remark@below {{requires no gradient}}
  %4 = torch.aten.detach %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  // expected-remark@below {{requires a gradient}}
  %5 = torch.aten.type_as %x, %y : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  // expected-remark@below {{requires no gradient}}
  %6 = torch.aten.type_as %y, %x : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  // expected-remark@below {{requires no gradient}}
  %7 = torch.aten.type_as %x, %i : !torch.vtensor<[4],f32>, !torch.vtensor<[4],si64> -> !torch.vtensor<[4],si64>
  // Nobody knows what this op does.
  // expected-remark@below {{may require a gradient}}
  %8 = torch.operator "my.op"(%y) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  return
}

// -----
// CHECK-LABEL: func.func @control_flow
// expected-remark@below {{%arg0 requires a gradient}}
// expected-remark@below {{%arg1 requires no gradient}}
func.func @control_flow(%x: !torch.vtensor<[4],f32> {tierup.requires_grad = true}, %y: !torch.vtensor<[4],f32> {tierup.requires_grad = false},
                        %c: !torch.bool, %n: !torch.int) {
  %true = torch.constant.bool true
  // expected-remark@below {{may require a gradient}}
  %0 = torch.prim.If %c -> (!torch.vtensor<[4],f32>) {
    torch.prim.If.yield %x : !torch.vtensor<[4],f32>
  } else {
    torch.prim.If.yield %y : !torch.vtensor<[4],f32>
  }
  // %y's place is taken by what did require one, in the third round: found by going round until nothing changes.
  // expected-remark@below {{#0 may require a gradient}}
  // expected-remark@below {{#1 may require a gradient}}
  // expected-remark@below {{#2 requires a gradient}}
  // expected-remark@below {{%arg5 may require a gradient}}
  // expected-remark@below {{%arg6 may require a gradient}}
  // expected-remark@below {{%arg7 requires a gradient}}
  %1:3 = torch.prim.Loop %n, %true, init(%y, %y, %x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor<[4],f32>, %b: !torch.vtensor<[4],f32>, %d: !torch.vtensor<[4],f32>):
    torch.prim.Loop.condition %true, iter(%b, %d, %d : !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>)
  } : (!torch.int, !torch.bool, !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>)
    -> (!torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>)
  return
}

// -----
// A write makes whatever may share memory with the written tensor require one.
// CHECK-LABEL: func.func @writes
// expected-remark@below {{%arg0 may require a gradient}}
// expected-remark@below {{%arg1 requires a gradient}}
// expected-remark@below {{%arg2 requires no gradient}}
func.func @writes(%m: !torch.tensor<[4],f32> {tierup.requires_grad = false}, %x: !torch.tensor<[4],f32> {tierup.requires_grad = true},
                  %y: !torch.vtensor<[4],f32> {tierup.requires_grad = false}) {
  %one = torch.constant.int 1
  // expected-remark@below {{may require a gradient}}
  %0 = torch.aten.alias %m : !torch.tensor<[4],f32> -> !torch.tensor<[4],f32>
  // expected-remark@below {{requires a gradient}}
  %1 = torch.aten.add_.Tensor %m, %x, %one : !torch.tensor<[4],f32>, !torch.tensor<[4],f32>, !torch.int -> !torch.tensor<[4],f32>
  return
}

// -----
// CHECK-LABEL: func.func @lists
// expected-remark@below {{%arg0 requires a gradient}}
// expected-remark@below {{%arg1 requires no gradient}}
func.func @lists(%x: !torch.vtensor<[4],f32> {tierup.requires_grad = true}, %y: !torch.vtensor<[4],f32> {tierup.requires_grad = false}) {
  %zero = torch.constant.int 0
  // expected-remark@below {{may require a gradient}}
  %l = torch.prim.ListConstruct %x, %y : (!torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>) -> !torch.list<vtensor<[4],f32>>
  // expected-remark@below {{may require a gradient}}
  %0 = torch.aten.__getitem__.t %l, %zero : !torch.list<vtensor<[4],f32>>, !torch.int -> !torch.vtensor<[4],f32>
  // expected-remark@below {{requires a gradient}}
  %m = torch.prim.ListConstruct %x, %x : (!torch.vtensor<[4],f32>, !torch.vtensor<[4],f32>) -> !torch.list<vtensor<[4],f32>>
  // expected-remark@below {{requires a gradient}}
  %1 = torch.aten.cat %m, %zero : !torch.list<vtensor<[4],f32>>, !torch.int -> !torch.vtensor<[8],f32>
  return
}

// -----
// CHECK-LABEL: func.func @appended
// expected-remark@below {{%arg0 requires a gradient}}
// expected-remark@below {{%arg1 requires no gradient}}
func.func @appended(%x: !torch.vtensor<[4],f32> {tierup.requires_grad = true}, %y: !torch.vtensor<[4],f32> {tierup.requires_grad = false}) {
  %zero = torch.constant.int 0
  // expected-remark@below {{may require a gradient}}
  %l = torch.prim.ListConstruct %y : (!torch.vtensor<[4],f32>) -> !torch.list<vtensor<[4],f32>>
  // expected-remark@below {{may require a gradient}}
  %0 = torch.aten.__getitem__.t %l, %zero : !torch.list<vtensor<[4],f32>>, !torch.int -> !torch.vtensor<[4],f32>
  // expected-remark@below {{may require a gradient}}
  %1 = torch.aten.append.t %l, %x : !torch.list<vtensor<[4],f32>>, !torch.vtensor<[4],f32> -> !torch.list<vtensor<[4],f32>>
  return
}

// -----
// Recorded facts are assumptions; what a check asks for is sure where it holds. Calls are followed.
// CHECK-LABEL: func.func @speculation
// expected-remark@below {{%arg0 may require a gradient}}
func.func @speculation(%x: !torch.vtensor<[4],f32>) {
  // expected-remark@below {{may require a gradient}}
  %0 = "tierup.profile"(%x) {slot = 0 : i64, profiled = #tierup.profiled<f32[4] requires_grad=false>} : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  // expected-remark@below {{requires no gradient}}
  %1:2 = "tierup.check_requires_grad"(%0) {requires_grad = [false]} : (!torch.vtensor<[4],f32>) -> (!torch.vtensor<[4],f32>, !torch.bool)
  // expected-remark@below {{requires no gradient}}
  %2 = func.call @callee(%1#0) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  // expected-remark@below {{requires no gradient}}
  // expected-remark@below {{requires no gradient}}
  %3 = "tierup.fusion_group"(%2) ({
  ^bb0(%a: !torch.vtensor<[4],f32>):
    "tierup.yield"(%a) : (!torch.vtensor<[4],f32>) -> ()
  }, {}) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  return
}
// expected-remark@below {{%arg0 may require a gradient}}
func.func private @callee(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
  // expected-remark@below {{may require a gradient}}
  %0 = torch.aten.tanh %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}
