// RUN: tierup-opt %s --tierup-fuse-groups | FileCheck %s
// RUN: tierup-opt %s --tierup-fuse-groups --tierup-fuse-groups | FileCheck %s
// RUN: tierup-opt %s --tierup-fuse-groups="policy=legacy" | FileCheck %s --check-prefix=LEGACY

!t = !torch.vtensor<[4],f32>
!l = !torch.list<vtensor<[4],f32>>

// Neighbours, one of which reads what the other gives; the op between them needs the first only, and goes behind both.
// CHECK-LABEL: func.func @neighbours
// CHECK: [[G:%.+]]:2 = "tierup.fusion_group"(%arg0) ({
// CHECK: torch.aten.tanh
// CHECK: torch.aten.add.Tensor
// CHECK: torch.aten.exp
// CHECK: "tierup.yield"
// CHECK: torch.aten.sort [[G]]#0
// CHECK-NOT: tierup.fusion_group
// CHECK: return
func.func @neighbours(%x: !t) -> (!t, !t) {
  %zero = torch.constant.int 0
  %true = torch.constant.bool true
  %0 = "tierup.fusion_group"(%x) ({
  ^bb0(%a: !t):
    %one = torch.constant.int 1
    %4 = torch.aten.tanh %a : !t -> !t
    %5 = torch.aten.add.Tensor %4, %4, %one : !t, !t, !torch.int -> !t
    "tierup.yield"(%5) : (!t) -> ()
  }, {}) : (!t) -> !t
  %1, %2 = torch.aten.sort %0, %zero, %true : !t, !torch.int, !torch.bool -> !t, !torch.vtensor<[4],si64>
  %3 = "tierup.fusion_group"(%0) ({
  ^bb0(%a: !t):
    %4 = torch.aten.exp %a : !t -> !t
    "tierup.yield"(%4) : (!t) -> ()
  }, {}) : (!t) -> !t
  return %1, %3 : !t, !t
}

// A path through an op between them, or through the order of what may raise: they stay two.
// CHECK-LABEL: func.func @path
// CHECK-COUNT-2: "tierup.fusion_group"
// CHECK: return
func.func @path(%x: !t) -> !t {
  %zero = torch.constant.int 0
  %true = torch.constant.bool true
  %0 = "tierup.fusion_group"(%x) ({
  ^bb0(%a: !t):
    %4 = torch.aten.tanh %a : !t -> !t
    "tierup.yield"(%4) : (!t) -> ()
  }, {}) : (!t) -> !t
  %1, %2 = torch.aten.sort %0, %zero, %true : !t, !torch.int, !torch.bool -> !t, !torch.vtensor<[4],si64>
  %3 = "tierup.fusion_group"(%1) ({
  ^bb0(%a: !t):
    %4 = torch.aten.exp %a : !t -> !t
    "tierup.yield"(%4) : (!t) -> ()
  }, {}) : (!t) -> !t
  return %3 : !t
}

// CHECK-LABEL: func.func @order
// CHECK-COUNT-2: "tierup.fusion_group"
// CHECK: return
func.func @order(%x: !t, %y: !torch.vtensor<[2,2],f32>) -> (!torch.vtensor<[2,2],f32>, !torch.vtensor<[4],f32>, !torch.vtensor<[2,2],f32>) {
  %dim = torch.constant.int 0
  %kth = torch.prim.ListConstruct %dim : (!torch.int) -> !torch.list<int>
  %0 = "tierup.fusion_group"(%y) ({
  ^bb0(%a: !torch.vtensor<[2,2],f32>):
    %4 = torch.aten.mm %a, %a : !torch.vtensor<[2,2],f32>, !torch.vtensor<[2,2],f32> -> !torch.vtensor<[2,2],f32>
    "tierup.yield"(%4) : (!torch.vtensor<[2,2],f32>) -> ()
  }, {}) : (!torch.vtensor<[2,2],f32>) -> !torch.vtensor<[2,2],f32>
  %1 = torch.operator "tierup.partition"(%x, %dim, %kth) : (!t, !torch.int, !torch.list<int>) -> !torch.vtensor<[4],f32>
  %2 = "tierup.fusion_group"(%y) ({
  ^bb0(%a: !torch.vtensor<[2,2],f32>):
    %4 = torch.aten.mm %a, %a : !torch.vtensor<[2,2],f32>, !torch.vtensor<[2,2],f32> -> !torch.vtensor<[2,2],f32>
    "tierup.yield"(%4) : (!torch.vtensor<[2,2],f32>) -> ()
  }, {}) : (!torch.vtensor<[2,2],f32>) -> !torch.vtensor<[2,2],f32>
  return %0, %1, %2 : !torch.vtensor<[2,2],f32>, !torch.vtensor<[4],f32>, !torch.vtensor<[2,2],f32>
}

// What a merged group may raise keeps its order too.
// CHECK-LABEL: func.func @order_of_merged
// CHECK-COUNT-2: "tierup.fusion_group"
// CHECK-NOT: tierup.fusion_group
// CHECK: return
func.func @order_of_merged(%x: !t, %y: !torch.vtensor<[2,2],f32>) -> (!torch.vtensor<[2,2],f32>, !torch.vtensor<[4],f32>, !torch.vtensor<[2,2],f32>) {
  %dim = torch.constant.int 0
  %kth = torch.prim.ListConstruct %dim : (!torch.int) -> !torch.list<int>
  %0 = "tierup.fusion_group"(%y) ({
  ^bb0(%a: !torch.vtensor<[2,2],f32>):
    %4 = torch.aten.mm %a, %a : !torch.vtensor<[2,2],f32>, !torch.vtensor<[2,2],f32> -> !torch.vtensor<[2,2],f32>
    "tierup.yield"(%4) : (!torch.vtensor<[2,2],f32>) -> ()
  }, {}) : (!torch.vtensor<[2,2],f32>) -> !torch.vtensor<[2,2],f32>
  %3 = "tierup.fusion_group"(%0) ({
  ^bb0(%a: !torch.vtensor<[2,2],f32>):
    %4 = torch.aten.tanh %a : !torch.vtensor<[2,2],f32> -> !torch.vtensor<[2,2],f32>
    "tierup.yield"(%4) : (!torch.vtensor<[2,2],f32>) -> ()
  }, {}) : (!torch.vtensor<[2,2],f32>) -> !torch.vtensor<[2,2],f32>
  %1 = torch.operator "tierup.partition"(%x, %dim, %kth) : (!t, !torch.int, !torch.list<int>) -> !torch.vtensor<[4],f32>
  %2 = "tierup.fusion_group"(%y) ({
  ^bb0(%a: !torch.vtensor<[2,2],f32>):
    %4 = torch.aten.mm %a, %a : !torch.vtensor<[2,2],f32>, !torch.vtensor<[2,2],f32> -> !torch.vtensor<[2,2],f32>
    "tierup.yield"(%4) : (!torch.vtensor<[2,2],f32>) -> ()
  }, {}) : (!torch.vtensor<[2,2],f32>) -> !torch.vtensor<[2,2],f32>
  return %3, %1, %2 : !torch.vtensor<[2,2],f32>, !torch.vtensor<[4],f32>, !torch.vtensor<[2,2],f32>
}

// Three in a row, in a loop that is not native as a whole.
// CHECK-LABEL: func.func @in_a_loop
// CHECK: torch.prim.Loop
// CHECK: torch.aten.sort
// CHECK: "tierup.fusion_group"
// CHECK-NOT: tierup.fusion_group
// CHECK: return
func.func @in_a_loop(%x: !t, %n: !torch.int) -> !t {
  %zero = torch.constant.int 0
  %true = torch.constant.bool true
  %r = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %c: !t):
    %1, %2 = torch.aten.sort %c, %zero, %true : !t, !torch.int, !torch.bool -> !t, !torch.vtensor<[4],si64>
    %3 = "tierup.fusion_group"(%1) ({
    ^bb0(%a: !t):
      %6 = torch.aten.exp %a : !t -> !t
      "tierup.yield"(%6) : (!t) -> ()
    }, {}) : (!t) -> !t
    %4 = "tierup.fusion_group"(%3) ({
    ^bb0(%a: !t):
      %6 = torch.aten.tanh %a : !t -> !t
      "tierup.yield"(%6) : (!t) -> ()
    }, {}) : (!t) -> !t
    %5 = "tierup.fusion_group"(%4, %3) ({
    ^bb0(%a: !t, %b: !t):
      %6 = torch.aten.mul.Tensor %a, %b : !t, !t -> !t
      "tierup.yield"(%6) : (!t) -> ()
    }, {}) : (!t, !t) -> !t
    torch.prim.Loop.condition %true, iter(%5 : !t)
  } : (!torch.int, !torch.bool, !t) -> !t
  return %r : !t
}

// The older fuser's groups end with a concatenation.
// CHECK-LABEL: func.func @ends
// CHECK-COUNT-1: "tierup.fusion_group"
// CHECK-NOT: tierup.fusion_group
// LEGACY-LABEL: func.func @ends
// LEGACY-COUNT-2: "tierup.fusion_group"
func.func @ends(%x: !t) -> !torch.vtensor<[8],f32> {
  %0 = "tierup.fusion_group"(%x) ({
  ^bb0(%a: !t):
    %zero = torch.constant.int 0
    %2 = torch.aten.tanh %a : !t -> !t
    %3 = torch.prim.ListConstruct %2, %a : (!t, !t) -> !l
    %4 = torch.aten.cat %3, %zero : !l, !torch.int -> !torch.vtensor<[8],f32>
    "tierup.yield"(%4) : (!torch.vtensor<[8],f32>) -> ()
  }, {}) : (!t) -> !torch.vtensor<[8],f32>
  %1 = "tierup.fusion_group"(%0) ({
  ^bb0(%a: !torch.vtensor<[8],f32>):
    %2 = torch.aten.exp %a : !torch.vtensor<[8],f32> -> !torch.vtensor<[8],f32>
    "tierup.yield"(%2) : (!torch.vtensor<[8],f32>) -> ()
  }, {}) : (!torch.vtensor<[8],f32>) -> !torch.vtensor<[8],f32>
  return %1 : !torch.vtensor<[8],f32>
}

// What reads a list that an op between the groups writes stays behind that op: the first group may raise, so the write goes behind both.
// CHECK-LABEL: func.func @written_list
// CHECK: [[LIST:%.+]] = torch.prim.ListConstruct
// CHECK: "tierup.fusion_group"
// CHECK-NOT: "tierup.fusion_group"
// CHECK: torch.prim.Loop
// CHECK: torch.aten.append.t [[LIST]]
// CHECK: [[COPY:%.+]] = torch.aten.list.t [[LIST]]
// CHECK: torch.aten.permute %{{.*}}, [[COPY]]
func.func @written_list(%x: !t, %y: !torch.vtensor<[2,2],f32>) -> (!torch.vtensor<[2,2],f32>, !torch.vtensor, !t) {
  %zero = torch.constant.int 0
  %two = torch.constant.int 2
  %true = torch.constant.bool true
  %l = torch.prim.ListConstruct : () -> !torch.list<int>
  %0 = "tierup.fusion_group"(%y) ({
  ^bb0(%a: !torch.vtensor<[2,2],f32>):
    %3 = torch.aten.mm %a, %a : !torch.vtensor<[2,2],f32>, !torch.vtensor<[2,2],f32> -> !torch.vtensor<[2,2],f32>
    "tierup.yield"(%3) : (!torch.vtensor<[2,2],f32>) -> ()
  }, {}) : (!torch.vtensor<[2,2],f32>) -> !torch.vtensor<[2,2],f32>
  torch.prim.Loop %two, %true, init() {
  ^bb0(%i: !torch.int):
    %3 = torch.aten.append.t %l, %i : !torch.list<int>, !torch.int -> !torch.list<int>
    torch.prim.Loop.condition %true, iter()
  } : (!torch.int, !torch.bool) -> ()
  %copy = torch.aten.list.t %l : !torch.list<int> -> !torch.list<int>
  %1 = torch.aten.permute %y, %copy : !torch.vtensor<[2,2],f32>, !torch.list<int> -> !torch.vtensor
  %2 = "tierup.fusion_group"(%x) ({
  ^bb0(%a: !t):
    %3 = torch.aten.exp %a : !t -> !t
    %4 = torch.aten.tanh %3 : !t -> !t
    "tierup.yield"(%4) : (!t) -> ()
  }, {}) : (!t) -> !t
  return %0, %1, %2 : !torch.vtensor<[2,2],f32>, !torch.vtensor, !t
}
