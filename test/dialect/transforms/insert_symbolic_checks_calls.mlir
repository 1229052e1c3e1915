// RUN: tierup-opt %s --tierup-insert-symbolic-checks --tierup-verify-graph | FileCheck %s
// RUN: tierup-opt %s --tierup-insert-checks --tierup-verify-graph | FileCheck %s

// What a call gives has the types of the callee's signature, though nothing is proven of it where an op raises.
// CHECK-LABEL: func.func @program_that_cannot_run
// CHECK: call @helper(%{{.*}}) : (!torch.vtensor<[?,?],f64>) -> !torch.vtensor<[?,?],f64>
// CHECK: func.func private @helper(%{{.*}}) -> !torch.vtensor<[?,?],f64>
func.func @program_that_cannot_run(%x: !torch.vtensor<[?,?],f64>) -> !torch.vtensor<[?,?,?],f64> {
  %a = func.call @helper(%x) : (!torch.vtensor<[?,?],f64>) -> !torch.vtensor<[?,?],f64>
  %one = torch.constant.int 1
  %three = torch.constant.int 3
  %zero = torch.constant.int 0
  %sizes = torch.prim.ListConstruct %one, %three, %zero : (!torch.int, !torch.int, !torch.int) -> !torch.list<int>
  %1 = torch.aten.reshape %a, %sizes : !torch.vtensor<[?,?],f64>, !torch.list<int> -> !torch.vtensor<[?,?,?],f64>
  return %1 : !torch.vtensor<[?,?,?],f64>
}
func.func private @helper(%x: !torch.vtensor<[?,?],f64>) -> !torch.vtensor<[?,?],f64> {
  %zero = torch.constant.int 0
  %last = torch.constant.int -1
  %0 = torch.aten.movedim.int %x, %zero, %last : !torch.vtensor<[?,?],f64>, !torch.int, !torch.int -> !torch.vtensor<[?,?],f64>
  return %0 : !torch.vtensor<[?,?],f64>
}
