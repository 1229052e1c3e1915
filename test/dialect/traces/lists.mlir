// RUN: tierup-opt %s --tierup-functionalize --tierup-pipeline=profiling-insensitive --tierup-pipeline=instrument | FileCheck %s
// An in-place sum and a list. Writes become values first: one more value to watch than there, the copy that stands for the write.

// CHECK-COUNT-11: "tierup.profile"
// CHECK-NOT: "tierup.profile"
// CHECK: "tierup.count_run"

func.func @lists(%x: !torch.tensor {tierup.name = "x"}, %y: !torch.tensor {tierup.name = "y"}) -> !torch.tensor {
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %two = torch.constant.float 2.000000e+00
  %a = torch.aten.add.Tensor %x, %y, %one : !torch.tensor, !torch.tensor, !torch.int -> !torch.tensor
  %0 = torch.aten.add_.Tensor %a, %x, %one : !torch.tensor, !torch.tensor, !torch.int -> !torch.tensor
  %1 = torch.aten.mul.Tensor %a, %y : !torch.tensor, !torch.tensor -> !torch.tensor
  %b = torch.aten.relu %1 : !torch.tensor -> !torch.tensor
  %out = torch.prim.ListConstruct  : () -> !torch.list<tensor>
  %2 = torch.aten.mul.Scalar %b, %two : !torch.tensor, !torch.float -> !torch.tensor
  %3 = torch.aten.append.t %out, %2 : !torch.list<tensor>, !torch.tensor -> !torch.list<tensor>
  %4 = torch.aten.append.t %out, %a : !torch.list<tensor>, !torch.tensor -> !torch.list<tensor>
  %5 = torch.aten.cat %out, %zero : !torch.list<tensor>, !torch.int -> !torch.tensor
  return %5 : !torch.tensor
}
